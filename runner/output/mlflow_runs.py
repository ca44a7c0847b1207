"""Logs a sweep to MLflow: one parent run per sweep, one child run per cell.

It reads only the results files, so that a sweep can be logged again.
"""

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from components.json_value import Json
from components.subsets import OVERALL
from runner.output.artifacts import Client, Content, log_files, require_named_server
from runner.output.mlflow_database import database_file, open_client, tracking_lock
from runner.output.mlflow_files import cell_files, json_bytes, leaderboard_files
from runner.output.mlflow_metrics import BEST, logged_metrics, metric_name
from runner.output.mlflow_rows import FinishedRun, UsedData, log_runs
from runner.output.mlflow_text import Pages, description, run_name, swept_values
from runner.output.mlflow_traces import TraceLog
from runner.output.mlflow_view import TAG as VIEW_TAG
from runner.output.mlflow_view import file_link, samples_link, saved_view, view_link
from runner.output.report_process import PAGE, report_files
from runner.output.standings import RankedCells, find_standings
from runner.output.sweep_traces import TracedSweep, log_traces
from runner.output.traces.traced_samples import traced_cells
from runner.results import OK, RUNNING, STOPPED, CellResult, SweepResult, name_stopper, read_cell, read_sweep
from runner.results.cell_axes import common_base, find_shown_axes, varying_axes
from runner.results.leaderboard_order import N_FIRST, direction_sign, select_ranked_part
from runner.results.partial_sweeps import search_text

_SAMPLES_TAG = "samples_page"
_SUBSETS_TAG = "subsets"

_STATUS = {OK: "FINISHED", RUNNING: "RUNNING", STOPPED: "KILLED"}
_MAX_PARAM_CHARACTERS = 5_000
_HASH_DIGITS = 12
CELLS_TOGETHER = 20
"""Cells that are written together. With more of them, a cell takes no less time, and all are in memory."""


class LoggedCell(NamedTuple):
    """Status that a cell was logged with, its run, and whether the run has every metric."""

    status: str
    run_id: str
    has_every: bool


_NOT_LOGGED = LoggedCell("", "", has_every=False)


class LoggedSweep(NamedTuple):
    """Addresses of a logged sweep, and the traces that were logged."""

    pages: Pages
    traced: TracedSweep


class Tracker:
    """Logs one sweep. Every method raises whatever MLflow raises.

    Hydra's other launchers start several processes, which share the database and the parent run. They take turns.
    """

    def __init__(self, uri: str, experiment: str, sweep_dir: Path, *, every: bool = False) -> None:
        """Create the database and the experiment if they are missing. `every` is as in `logged_metrics`."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")  # a server's client prints each URL
        # An unreachable server must not delay a sweep, because its results can be logged later.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self._uri = uri
        self._every = every
        self._sweep_dir = sweep_dir
        self._cells: dict[str, CellResult] = {}
        self._logged: dict[str, LoggedCell] = {}
        self._samples_page = ""
        with tracking_lock(self._uri, self._sweep_dir.parent):
            self._client = open_client(uri)
            self._experiment_id = self._experiment(uri, experiment)
            self._place = self._client.get_experiment(self._experiment_id)
            self._traces = TraceLog(self._client, self._experiment_id)
            self._parent = self._start(read_sweep(sweep_dir))

    def _experiment(self, uri: str, name: str) -> str:
        """Return the id of the experiment. A new one in a local database has its artifacts next to the database."""
        experiment = self._client.get_experiment_by_name(name)
        if experiment:
            require_named_server(uri, experiment.artifact_location)
            return str(experiment.experiment_id)
        location = None
        if file := database_file(uri):
            location = (file.parent / "mlartifacts").as_uri()
        # The kind decides which pages the UI opens with: runs and charts, not traces of an application.
        tags = {"mlflow.experimentKind": "custom_model_development"}
        return str(self._client.create_experiment(name, artifact_location=location, tags=tags))

    def _start(self, sweep: SweepResult) -> Client:
        """Return the existing parent run of this sweep, or a new one."""
        self._headline = sweep.headline
        self._axes = list(sweep.search.get("axes", ())) or varying_axes(cell["axes"] for cell in sweep.cells)
        self._base = None if sweep.search else common_base((cell["axes"] for cell in sweep.cells), self._axes)
        query = f"tags.sweep_id = '{sweep.sweep_id}' and tags.role = 'sweep'"
        if parents := self._client.search_runs([self._experiment_id], query, max_results=1):
            self._logged = dict(self._whole_children(parents[0].info.run_id))
            self._samples_page = parents[0].data.tags.get(_SAMPLES_TAG, "")
            return parents[0]
        swept = " x ".join(self._axes) or "one configuration"
        what = swept if self._base is None else f"one of {len(self._axes)} axes changed at a time"
        search = {**sweep.search, "n_tried": sweep.search["n_cells"]} if sweep.search else {}  # no cell has run yet
        n_cells = search_text(search) if search else f"{len(sweep.cells)} cells"
        name = f"{sweep.sweep_id}: {n_cells}, {what}"
        tags = {"mlflow.runName": name, "sweep_id": sweep.sweep_id, "command": sweep.command[:5000], "role": "sweep"}
        return self._client.create_run(self._experiment_id, tags=tags)

    def _whole_children(self, parent_id: str) -> Iterator[tuple[str, LoggedCell]]:
        """Yield completely logged cells, and delete incomplete runs, which a broken connection leaves."""
        query = f"tags.`mlflow.parentRunId` = '{parent_id}'"
        for run in self._client.search_runs([self._experiment_id], query, max_results=50_000):
            if run.info.status == _STATUS[RUNNING] or "status" not in run.data.tags:
                self._client.delete_run(run.info.run_id)
            else:
                tags = run.data.tags
                yield tags["cell_id"], LoggedCell(tags["status"], run.info.run_id, _SUBSETS_TAG in tags)

    def log_cells(self, folders: Sequence[Path]) -> None:
        """Log a child run per cell from its folder. It replaces an earlier run if the status changed."""
        for first in range(0, len(folders), CELLS_TOGETHER):
            with tracking_lock(self._uri, self._sweep_dir.parent):
                runs = self._new_runs(folders[first : first + CELLS_TOGETHER])
                for run_id, run in log_runs(self._client, self._place, runs).items():
                    self._logged[run.tags["cell_id"]] = LoggedCell(run.last_tags["status"], run_id, self._every)

    def _new_runs(self, folders: Sequence[Path]) -> Iterator[FinishedRun]:
        """Yield the runs of cells that are not logged with their present status, and delete their earlier runs."""
        for folder in folders:
            cell = read_cell(folder)
            self._cells[cell.cell_id] = select_ranked_part(cell, self._headline)
            status, earlier, has_every = self._logged.get(cell.cell_id, _NOT_LOGGED)
            if status != cell.status or (self._every and not has_every):
                if earlier:
                    self._traces.remove(earlier)
                    self._client.delete_run(earlier)
                yield self._build_run(folder, cell)

    def _build_run(self, folder: Path, cell: CellResult) -> FinishedRun:
        return FinishedRun(
            tags=_tags(cell, self._parent.info.run_id, run_name(cell.axes, self._axes, self._base)),
            last_tags={"status": cell.status, **({_SUBSETS_TAG: "all"} if self._every else {})},
            params={name: str(value) for name, value in cell.axes.items() if value is not None},
            metrics=dict(logged_metrics(cell, self._headline, every=self._every)),
            data=_used_data(cell.dataset),
            files=cell_files(folder, cell),
            state=_STATUS.get(cell.status, "FAILED"),
        )

    def finish(self, n_traces: int | None = 0) -> LoggedSweep:
        """Complete the parent run: leaderboard, description, metrics of the best cell, then traces.

        `n_traces` samples (None: all) get traces unless they have them. The cells are the best one, the first one of
        the sweep, and up to two that may be as good as the best.
        """
        sweep = read_sweep(self._sweep_dir)
        standings = find_standings(self._read_cells(sweep), self._sweep_dir, sweep.headline)
        axes = find_shown_axes(standings.ordered) or ["retriever"]
        with tracking_lock(self._uri, self._sweep_dir.parent):
            chosen = self._logged_cells(traced_cells(standings, sweep.cells[0]["cell_id"])) if n_traces != 0 else []
            run_ids = [self._logged[cell.cell_id].run_id for cell in chosen]
            samples = samples_link(self._uri, self._experiment_id, run_ids) if run_ids else self._samples_page
            pages = Pages(self._save_view(sweep, axes, standings), samples, self._report_page())
            self._log_parent(sweep, standings, axes, pages)
            return LoggedSweep(
                pages, log_traces(self._traces, self._sweep_dir, chosen, run_ids, standings.metrics, n_traces)
            )

    def _report_page(self) -> str:
        if not (self._sweep_dir / PAGE).is_file():
            return ""
        return file_link(self._uri, self._experiment_id, self._parent.info.run_id, PAGE)

    def _logged_cells(self, cells: Sequence[CellResult]) -> list[CellResult]:
        """Return the cells that are logged. A running sweep may have finished others since then."""
        if not all(cell.cell_id in self._logged for cell in cells):  # other processes logged some of the cells
            self._logged = dict(self._whole_children(self._parent.info.run_id))
        return [cell for cell in cells if cell.cell_id in self._logged]

    def _log_parent(self, sweep: SweepResult, standings: RankedCells, axes: list[str], pages: Pages) -> None:
        from mlflow.entities import Metric, RunTag

        now, parent_id = int(time.time() * 1000), self._parent.info.run_id
        tags = {
            "status": sweep.status,
            "n_cells": str(len(standings.ordered)),
            "mlflow.note.content": description(sweep, self._sweep_dir, standings, axes, pages),
            **({_SAMPLES_TAG: pages.samples} if pages.samples else {}),
            **({"search": search_text(sweep.search)} if sweep.search else {}),
        }
        metrics = []
        if standings.best:
            tags["best_cell"] = standings.best.cell_id
            values = {name: standings.best.value(name) for name in standings.metrics}
            metrics = [
                Metric(metric_name(BEST, name), value, now, 0) for name, value in values.items() if value is not None
            ]
        files: dict[str, Content] = {"sweep.json": self._sweep_dir / "sweep.json"}
        # Their present content, because a later report is written into the same files.
        files |= {path.name: path.read_bytes() for path in report_files(self._sweep_dir)}
        if standings.metrics:
            files |= leaderboard_files(standings.ordered, axes, standings.metrics)
        log_files(self._client, self._parent, files)
        run_tags = [RunTag(name, value) for name, value in tags.items()]
        self._client.log_batch(parent_id, metrics, params=self._new_params(sweep, axes), tags=run_tags)
        self._client.set_terminated(parent_id, _STATUS.get(sweep.status, "FAILED"))

    def _new_params(self, sweep: SweepResult, axes: list[str]) -> list[Client]:
        """Return the values of the axes that vary, except axes that were logged: MLflow refuses other values."""
        from mlflow.entities import Param

        existing = self._client.get_run(self._parent.info.run_id).data.params
        values = {axis: swept_values(sweep, axis)[:_MAX_PARAM_CHARACTERS] for axis in axes}
        return [Param(axis, text) for axis, text in values.items() if axis not in existing]

    def _save_view(self, sweep: SweepResult, axes: list[str], standings: RankedCells) -> str:
        """Save a view of this sweep, and return its address."""
        parent_id = self._parent.info.run_id
        metrics = standings.metrics
        columns = [metric_name(OVERALL, name) for name in metrics[:N_FIRST]]
        largest_first = not metrics or direction_sign(metrics[0], standings.ordered) >= 0
        now = int(time.time() * 1000)
        view = saved_view(f"Sweep {sweep.sweep_id}", now, parent_id, axes, columns, largest_first=largest_first)
        self._client.set_experiment_tag(self._experiment_id, VIEW_TAG + sweep.sweep_id, view)
        return view_link(self._uri, self._experiment_id, sweep.sweep_id)

    def _read_cells(self, sweep: SweepResult) -> list[CellResult]:
        """Return the finished cells in the order of the sweep. Cells of other processes are read."""
        for cell in sweep.cells:
            folder = self._sweep_dir / cell["cell_id"]
            if cell["cell_id"] not in self._cells and (folder / "cell.json").is_file():
                self._cells[cell["cell_id"]] = select_ranked_part(read_cell(folder), self._headline)
        return [self._cells[cell["cell_id"]] for cell in sweep.cells if cell["cell_id"] in self._cells]


def _used_data(facts: Mapping[str, Json]) -> UsedData:
    return UsedData(
        name=str(facts["name"]),
        digest=str(facts["key"])[:36],
        source=json.dumps({"content_key": facts["key"]}),
        profile=json.dumps({name: fact for name, fact in facts.items() if name.startswith(("n_", "share_"))}),
    )


def _tags(cell: CellResult, parent_id: str, name: str) -> dict[str, str]:
    stopped = f" (stopped by {name_stopper([cell])})" if cell.status == STOPPED else ""
    return {
        "mlflow.parentRunId": parent_id,
        "mlflow.runName": f"{name or cell.cell_id}{stopped}",
        "role": "cell",
        "cell_id": cell.cell_id,
        **({"reason": cell.reason[:5000]} if cell.reason else {}),
        **{f"race.{name}": str(value) for name, value in cell.race.items()},
        **{f"search.{name}": str(value) for name, value in cell.search.items() if name != "axes"},
        "git_commit": cell.git_commit,
        "versions": sha256(json_bytes(dict(sorted(cell.versions.items())))).hexdigest()[:_HASH_DIGITS],
        **{f"signature.{name}": signature for name, signature in cell.signatures.items()},
    }
