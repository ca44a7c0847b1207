"""One sweep from its configurations to its results: check, load, plan, run, write, log, report."""

import shlex
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock
from rich.console import Console

from components.errors import ConfigError, DamagedEntryError, DataError, RagGridError, StoreError
from runner import environment, results, terminal
from runner.cell import Cell
from runner.execute import StageRun, Worker, run_stages
from runner.identity import key_of
from runner.plan import CellRequest, Plan, PlannedCell, make_plan, plan_cells
from runner.results import FAILED, INTERRUPTED, OK, RUNNING, CellResult, SweepResult
from runner.schema import build_cell
from runner.stage import Stage
from runner.store import Store

EXIT_OK, EXIT_CELL_FAILED, EXIT_NOT_RUN, EXIT_INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True)
class Job:
    """One composed configuration: plain and resolved, with its axes and overrides."""

    config: Mapping[str, Any]
    axes: Mapping[str, Any]
    overrides: tuple[str, ...]


def run_sweep(jobs: Sequence[Job], sweep_id: str, overrides: Sequence[str]) -> int:
    """Runs all cells; returns the exit code: 0 all fine, 1 a cell failed, 2 nothing was run, 130 interrupted."""
    console = terminal.make_console()
    try:
        requests = check_jobs(jobs)
        return Sweep(requests, sweep_id, overrides, console).run()
    except RagGridError as error:
        print(error, file=sys.stderr)
        return EXIT_NOT_RUN
    except KeyboardInterrupt:
        print("\nInterrupted before the sweep began.", file=sys.stderr)
        return EXIT_INTERRUPTED


def check_jobs(jobs: Sequence[Job]) -> list[CellRequest]:
    """Typed cells. Raises ConfigError with the mistakes of all jobs together, equal ones once."""
    requests, mistakes = [], []
    for job in jobs:
        try:
            cell = build_cell(job.config)
            mistakes += cell.check()
            requests.append(CellRequest(cell, dict(job.axes), job.overrides, dict(job.config)))
        except ConfigError as error:
            mistakes += error.mistakes
    for field in ("run", "tracking", "experiment"):
        if len({repr(getattr(request.cell, field)) for request in requests}) > 1:
            mistakes.append(f"{field}.*: differs between cells; these settings belong to the sweep and take one value")
    if mistakes:
        raise ConfigError(list(dict.fromkeys(mistakes)))
    return requests


class Sweep:
    """A sweep under way: where its results go, and which cells are done."""

    def __init__(
        self, requests: Sequence[CellRequest], sweep_id: str, overrides: Sequence[str], console: Console
    ) -> None:
        """Checks that results and store can be written. Raises StoreError."""
        cell = requests[0].cell
        self._requests = requests
        self._settings: Cell = cell
        self._console = console
        self._sweep_id = sweep_id
        self._overrides = tuple(overrides)
        self._results_dir = Path(cell.run.results_dir)
        self._sweep_dir = self._results_dir / sweep_id
        self._started = _now()
        self._store = Store(Path(cell.run.store_dir), run_id=uuid.uuid4().hex)
        self._tracker: Any = None
        self._tracking_error = ""
        self._done: dict[str, CellResult] = {}
        self._notes: dict[str, dict[str, Any]] = {}

    def run(self) -> int:
        """Everything, in order."""
        cells = plan_cells(self._requests, self._load)
        plan = make_plan(cells, self._store)
        terminal.show_plan(self._console, plan)
        if self._settings.run.plan_only:
            return EXIT_OK
        self._begin(plan)
        try:
            self._execute(plan)
        except KeyboardInterrupt:
            self._end(plan, INTERRUPTED)
            self._console.print(
                f"\nInterrupted: {len(self._done)} of {len(plan.cells)} cells are done, every finished stage is kept. "
                "The same command goes on from here."
            )
            return EXIT_INTERRUPTED
        except StoreError:
            self._end(plan, INTERRUPTED)
            raise
        failed = any(cell.status != OK for cell in self._done.values())
        self._end(plan, FAILED if failed else OK)
        self._report(plan)
        return EXIT_CELL_FAILED if failed else EXIT_OK

    def _load(self, stage: Stage) -> dict[str, Any]:
        """Loads a data set unless it is kept; returns what stands for its content."""
        if self._store.find(stage.kind, stage.key) is None:
            self._console.print(f"loading {stage.component.name} ...")
        parts = self._read(stage, "content", "notes")
        self._notes[key_of([parts["content"]["documents"], parts["content"]["samples"]])] = parts["notes"]
        return dict(parts["content"])

    def _read(self, stage: Stage, *parts: str) -> dict[str, Any]:
        """Parts of a stage's result, which is made if it is not there or damaged."""
        for _ in range(2):
            entry = self._store.find(stage.kind, stage.key)
            try:
                if entry:
                    return entry.read(*parts)
            except DamagedEntryError as error:
                self._console.print(f"damaged in the store, computed again: {error}")
                if entry:
                    self._store.discard(entry)
            Worker(self._store).run_or_raise(stage)
        raise StoreError(
            f"{self._store.root}: the result of stage {stage.kind} is damaged again after it was computed anew"
        )

    def _begin(self, plan: Plan) -> None:
        try:
            self._sweep_dir.mkdir(parents=True, exist_ok=True)
            self._write_sweep(plan, RUNNING)
        except OSError as error:
            raise StoreError(
                f"run.results_dir: cannot write in {self._results_dir}: {error.strerror or error}; "
                "choose another run.results_dir"
            ) from error
        if self._settings.tracking.enabled:
            self._track("start", self._sweep(plan, RUNNING))

    def _execute(self, plan: Plan) -> None:
        """Runs stages; a cell is written and logged as soon as its last stage ends."""
        by_result = {cell.graph.result.key: cell for cell in plan.cells}
        to_run = {stage.key for stage in plan.order}
        runs: dict[str, StageRun] = {}
        for key, cell in by_result.items():
            if key not in to_run:
                self._finish_cell(cell, runs)
        with terminal.StageProgress(self._console, plan.order, self._settings.run.progress) as progress:
            for run in run_stages(plan.order, self._store, self._settings.run.workers, progress.within):
                runs[run.key] = run
                progress.finished(run.kind, 0.0 if run.reused else run.seconds)
                for damage in run.damaged:
                    self._console.print(f"damaged in the store, computed again: {damage}")
                if run.key in by_result:
                    self._finish_cell(by_result[run.key], runs)

    def _finish_cell(self, cell: PlannedCell, runs: Mapping[str, StageRun]) -> None:
        result, files = self._cell_result(cell, runs)
        try:
            folder = results.write_cell(self._sweep_dir, result, files)
        except OSError as error:
            raise StoreError(
                f"{self._sweep_dir}: cannot write results: {error.strerror or error}; they are kept in the store"
            ) from error
        self._done[cell.cell_id] = result
        if self._settings.tracking.enabled:
            self._track("log_cell", folder)

    def _cell_result(self, cell: PlannedCell, runs: Mapping[str, StageRun]) -> tuple[CellResult, dict[str, bytes]]:
        """The cell as results files; a failed one has its reason and trace instead of numbers."""
        final = cell.graph.result
        data = cell.graph.data
        dataset = {
            "name": cell.request.cell.dataset.name, "key": data.key, "n_documents": data.n_documents,
            "n_samples": data.n_samples, **self._notes[data.key],
        }  # fmt: skip
        facts: dict[str, Any] = {
            "cell_id": cell.cell_id,
            "axes": cell.axes,
            "overrides": cell.request.overrides,
            "config": cell.request.config,
            "versions": environment.versions(),
            "git_commit": environment.git_commit(),
            "host": environment.host(),
            **self._stage_facts(cell, runs),
        }
        run = runs.get(final.key)
        if run and run.failed:
            return CellResult(**facts, status=FAILED, reason=run.error, dataset=dataset), {
                "error.txt": run.trace.encode()
            }
        summary, files = self._read_result(cell)
        n_failed, rate = summary["counts"].get("error", 0), self._settings.run.max_failure_rate
        reason = ""
        if n_failed > rate * summary["n_samples"]:
            reason = (
                f"{n_failed} of {summary['n_samples']} answers failed, more than run.max_failure_rate={rate:g} allows"
            )
        return (
            CellResult(
                **facts, status=FAILED if reason else OK, reason=reason, dataset=dataset, metrics=summary["metrics"],
                counts=summary["counts"], tokens=summary["tokens"],
            ),
            files,
        )  # fmt: skip

    def _stage_facts(self, cell: PlannedCell, runs: Mapping[str, StageRun]) -> dict[str, Any]:
        """Seconds and reuse by kind of stage, over the stages that were looked at in this run."""
        seconds: dict[str, float] = {}
        reused: dict[str, bool] = {}
        for stage in cell.graph.result.upstream():
            run = runs.get(stage.key)
            entry = self._store.find(stage.kind, stage.key)
            if entry:
                seconds[stage.kind] = seconds.get(stage.kind, 0.0) + entry.manifest.seconds
                reused[stage.kind] = reused.get(stage.kind, True) and (run is None or run.reused)
        return {"seconds": seconds, "reused": reused}

    def _read_result(self, cell: PlannedCell) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The cell's summary, and the files that go into its folder as they are."""
        stage = cell.graph.result
        summary = self._read(stage)["summary"]
        folder = self._store.folder(stage.kind, stage.key)
        names = sorted(path.name for path in folder.iterdir() if path.suffix != ".json")
        return summary, {name: (folder / name).read_bytes() for name in names}

    def _sweep(self, plan: Plan, status: str) -> SweepResult:
        return SweepResult(
            sweep_id=self._sweep_id,
            name=self._settings.experiment.name,
            status=status,
            command=shlex.join(["python", "-m", "runner", *sys.argv[1:]]),
            overrides=self._overrides,
            started=self._started,
            finished="" if status == RUNNING else _now(),
            cells=tuple(self._describe(cell) for cell in plan.cells),
            plan={
                "n_cells": len(plan.cells),
                "n_requested": plan.n_requested,
                "n_llm_calls": plan.n_llm_calls,
                "stages": {
                    k.kind: {"n_asked": k.n_asked, "n_unique": k.n_unique, "n_kept": k.n_kept} for k in plan.kinds
                },
            },
        )

    def _describe(self, cell: PlannedCell) -> dict[str, Any]:
        result = self._done.get(cell.cell_id)
        return {
            "cell_id": cell.cell_id,
            "status": result.status if result else RUNNING,
            "reason": result.reason if result else "",
            "axes": cell.axes,
            "overrides": list(cell.request.overrides),
            "same_as": [list(request.overrides) for request in cell.same_as],
        }

    def _write_sweep(self, plan: Plan, status: str) -> None:
        """Joins with what another process of the same sweep wrote: Hydra's other launchers run cell by cell."""
        sweep = self._sweep(plan, status)
        with FileLock(self._sweep_dir / ".sweep.lock"):
            results.write_sweep(self._sweep_dir, _joined(self._sweep_dir, sweep))

    def _end(self, plan: Plan, status: str) -> None:
        self._write_sweep(plan, status)
        if self._settings.tracking.enabled:
            self._track("finish", results.read_sweep(self._sweep_dir), list(results.read_cells(self._sweep_dir)))

    def _track(self, action: str, *arguments: Any) -> None:
        """Logging that fails is reported once and stops; the sweep goes on, and runner.track can log it later."""
        if self._tracking_error:
            return
        try:
            # One process at a time: other launchers start several, which share the database and the parent run.
            with FileLock(self._results_dir / ".mlflow.lock"):
                if self._tracker is None:
                    from runner.tracking import Tracker, default_uri

                    uri = self._settings.tracking.uri or default_uri(self._results_dir)
                    self._tracker = Tracker(uri, self._settings.experiment.name, self._sweep_dir)
                getattr(self._tracker, action)(*arguments)
        except Exception as error:  # noqa: BLE001 - tracking must never cost a result; the failure is shown at the end
            self._tracking_error = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"

    def _report(self, plan: Plan) -> None:
        from runner.tracking import default_uri

        cells = list(results.read_cells(self._sweep_dir))
        terminal.show_leaderboard(self._console, cells)
        terminal.show_failures(self._console, cells)
        self._console.print(f"results:  {self._sweep_dir}")
        if self._tracking_error:
            self._console.print(
                f"[red]MLflow failed[/] ({self._tracking_error}); nothing is lost, log it later with: "
                f"python -m runner.track {shlex.quote(str(self._sweep_dir))}"
            )
        elif self._settings.tracking.enabled:
            uri = self._settings.tracking.uri or default_uri(self._results_dir)
            self._console.print(f"compare:  mlflow ui --backend-store-uri {uri}")


def _joined(sweep_dir: Path, sweep: SweepResult) -> SweepResult:
    try:
        before = results.read_sweep(sweep_dir)
    except DataError:
        return sweep
    own = {cell["cell_id"] for cell in sweep.cells}
    others = [cell for cell in before.cells if cell["cell_id"] not in own]
    if not others:
        return sweep
    cells = (*others, *sweep.cells)
    statuses = {cell["status"] for cell in cells}
    status = next((s for s in (RUNNING, INTERRUPTED, FAILED) if s in statuses or sweep.status == s), OK)
    joined_plan = {**sweep.plan, "n_cells": len(cells)}
    return SweepResult(
        **{**vars(sweep), "cells": cells, "started": before.started, "status": status, "plan": joined_plan}
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
