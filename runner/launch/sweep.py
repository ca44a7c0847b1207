"""Runs one sweep from its configurations to its results: check, load, plan, run, write, log, report."""

import os
import shlex
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from rich.console import Console

from components.errors import BudgetReached, ComponentError, ConfigError, RagGridError, StoreError
from components.json_value import Json
from runner import results
from runner.console.display import make_console, print_error
from runner.console.ending_signals import defer_ending_signals
from runner.engine.hidden_answers import HiddenAnswers
from runner.engine.outcome import StageRun
from runner.engine.outdated_results import discard
from runner.engine.plugins.plugin_loading import allow_edits
from runner.engine.plugins.trusted_packages import trust
from runner.engine.schedule import GIVEN_UP, PersistentWorkers
from runner.engine.spending import SharedLimiter
from runner.engine.stage import AnyStage
from runner.engine.store import open_store
from runner.engine.uncovered_files import forget_written_files
from runner.launch.headline import planned_headline
from runner.launch.preset_head import preset_lines
from runner.launch.race import SweepRace
from runner.launch.race_forecast import race_lines
from runner.launch.race_plan import plan_race
from runner.launch.request import check_jobs
from runner.launch.search import SweepSearch
from runner.launch.search_jobs import SearchJobs
from runner.launch.search_plan import plan_max_requests, plan_search
from runner.launch.steering import SweepSteering
from runner.output import sweep_warnings, terminal
from runner.output.closing_lines import next_lines, tracking_lines
from runner.output.collect import collect_cell, stopped_cell
from runner.output.cut_text_warnings import long_chunk_lines
from runner.output.headline_lines import headline_lines, tied_lines
from runner.output.leaderboard_csv import leaderboard_csv
from runner.output.leaderboard_rows import equal_rows, join_draws
from runner.output.money import bound_lines, money_lines, stopped_line, unpriced_errors
from runner.output.plan_report import show_plan, show_search
from runner.output.progress import StageProgress
from runner.output.report_process import PAGE, write_report
from runner.output.standings import find_standings, first_row_line
from runner.output.tracking import SafeTracker
from runner.pipeline.planned_cells import (
    CellRequest,
    Job,
    LoadedDatasets,
    PlannedCell,
    SweepPlan,
    drop_stopped_cells,
    plan_sweep,
)
from runner.results import FAILED, INTERRUPTED, OK, RUNNING, STOPPED, CellResult, SweepResult
from runner.results.cell_axes import find_shown_axes
from runner.results.leaderboard_order import headlines, put_leaders_first, rank_cells, select_ranked_part
from runner.results.partial_sweeps import search_text

_LOGGING_AFTER_INTERRUPT_S = 30

EXIT_OK, EXIT_CELL_FAILED, EXIT_NOT_RUN, EXIT_OVER_BUDGET, EXIT_INTERRUPTED = 0, 1, 2, 3, 130


class CellFailed(Exception):
    """A cell that one of Hydra's other launchers ran has failed. Hydra runs the other cells before it reports this."""


class SweepInterrupted(StoreError):
    """The store or the results could not be written after the first stages had run. Finished stages are cached."""


WriteConfig = Callable[[Path], None]
"""Writes the configuration of a sweep into its folder."""


def write_no_config(sweep_dir: Path) -> None:
    """Write nothing, for sweeps that do not record their configuration."""


class RunJobs(Protocol):
    """Runs the jobs of a sweep: see `start_sweep`."""

    def __call__(
        self,
        jobs: Sequence[Job],
        sweep_id: str,
        overrides: Sequence[str],
        write_config: WriteConfig = write_no_config,
        *,
        search: SearchJobs | None = None,
    ) -> int: ...


def run_sweep(
    jobs: Sequence[Job],
    sweep_id: str,
    overrides: Sequence[str],
    write_config: WriteConfig = write_no_config,
    *,
    search: SearchJobs | None = None,
    is_part: bool = False,
) -> int:
    """Run a sweep as `start_sweep` does. Print an error as one message, and return the exit code.

    In addition to the codes of `start_sweep`, returns 1 if the run broke off, 2 if nothing was run, 3 if a budget was
    reached.
    """
    try:
        return start_sweep(jobs, sweep_id, overrides, write_config, search=search, is_part=is_part)
    except BudgetReached as reached:
        print_error(reached)
        return EXIT_OVER_BUDGET
    except SweepInterrupted as error:
        print_error(error)
        return EXIT_CELL_FAILED
    except RagGridError as error:
        print_error(error)
        return EXIT_NOT_RUN
    except KeyboardInterrupt:
        print_error("\nInterrupted before the first stage.")
        return EXIT_INTERRUPTED


def start_sweep(
    jobs: Sequence[Job],
    sweep_id: str,
    overrides: Sequence[str],
    write_config: WriteConfig = write_no_config,
    *,
    search: SearchJobs | None = None,
    is_part: bool = False,
) -> int:
    """Run all cells, and return the exit code: 0 success, 1 a cell failed, 130 interrupted. Raises RagGridError for a
    refused configuration, unusable data or a store that fails.

    `sweep_id` names the results folder. `overrides` are the overrides of the whole sweep, for the record.
    `write_config` is called after the configuration and the data were accepted, because a refused configuration may
    contain a secret. With `is_part`, other processes run other cells of the sweep, and share its budget. With `search`,
    `jobs` only have the values of the axes, and the search proposes the cells.
    """
    try:
        requests = check_jobs(jobs)
        if requests[0].cell.search.enabled and search is None:
            raise ConfigError(["search: got a single cell. Add -m and several values of an axis, or set search=none."])
        trust(requests[0].cell.run.plugins)
        return RunningSweep(
            requests, sweep_id, overrides, make_console(), write_config, search=search, is_part=is_part
        ).run()
    finally:
        allow_edits()


class RunningSweep:
    """A sweep in progress: the folder of its results, and the cells that are done."""

    def __init__(
        self,
        requests: Sequence[CellRequest],
        sweep_id: str,
        overrides: Sequence[str],
        console: Console,
        write_config: WriteConfig = write_no_config,
        *,
        search: SearchJobs | None = None,
        is_part: bool = False,
    ) -> None:
        """Check that results and store can be written.

        Raises StoreError if they cannot, and ConfigError if `tracking.uri` is ambiguous or the executor cannot use the
        folder.
        """
        cell = requests[0].cell
        if problems := cell.executor.folder_problems(Path(cell.run.results_dir).absolute() / sweep_id):
            raise ConfigError(problems)
        self._requests = requests
        self._run = cell.run
        self._name = cell.experiment.name
        self._prices = cell.prices
        self._makes_report = cell.run.report and not is_part  # a part of a sweep has no report
        self._headline = ""
        self._preset_lines = [] if is_part else list(preset_lines(overrides, [request.job for request in requests]))
        self._console = console
        self._sweep_id = sweep_id
        self._overrides = tuple(overrides)
        self._write_config = write_config
        self._shown_dir = _create_folder(Path(cell.run.results_dir)) / sweep_id
        # Resolved now, because a component may change the working directory.
        self._sweep_dir = self._shown_dir.absolute()
        self._started = _now()
        self._began_at = time.monotonic()
        self._store = open_store(cell.run.store_dir, cell.run.cache_dir, uuid.uuid4().hex)
        # Records the spending of one command, in all batches of the sweep and all of its workers.
        ledger = self._sweep_dir / (".spent" if is_part else f".spent-{os.getpid()}")
        self._limiter = SharedLimiter(self._store.limits, ledger, self._run.budget, cell.prices)
        self._steering = SweepSteering(
            self._sweep_dir, ledger, self._run.budget, cell.prices.currency, self._print, self._record_requests
        )
        self._workers = PersistentWorkers(
            self._store, cell.executor, self._run.workers, self._limiter, self._sweep_dir, self._steering
        )
        self._tracker = SafeTracker(cell.tracking, self._name, self._sweep_dir)
        self._done: dict[str, CellResult] = {}
        self._hidden = HiddenAnswers()
        self._plan: SweepPlan | None = None
        self._is_part = is_part
        self._race: SweepRace | None = None
        self._search_jobs = search
        self._search: SweepSearch | None = None
        self._has_begun = False

    def run(self) -> int:
        """Run all steps in order, and return the exit code. Raises StoreError if results cannot be stored or
        written.
        """
        if not self._run.plan_only:
            self._tracker.prepare()
        try:
            with self._store.leases.take(self._store.run_id, None):  # the plan relies on what it finds in the store
                return self._plan_and_run()
        except OSError as error:
            raise (SweepInterrupted if self._has_begun else StoreError)(self._describe_refusal(error)) from error
        except StoreError as error:
            if self._has_begun:
                raise SweepInterrupted(str(error)) from error
            raise

    def _plan_and_run(self) -> int:
        plan = self._make_plan()
        for line in self._preset_lines:
            self._console.print(line, markup=False, highlight=False)
        self._warn(plan)
        if errors := unpriced_errors(plan.plan, self._run.budget, self._prices):
            raise ConfigError(errors)
        if not self._run.plan_only:
            if plan.plan.n_requests and not self._search:
                for line in dict.fromkeys(tied_lines(plan.cells, self._headline, self._store)):
                    self._console.print(line, style="yellow", markup=False)
            return self._run_plan(plan)
        results_dir = Path(self._run.results_dir)
        lines = () if self._search else headline_lines(plan.cells, self._headline, results_dir, self._store)
        for line in lines:
            self._console.print(line, markup=False)
        return EXIT_OK

    def _make_plan(self) -> SweepPlan:
        """Make and print the plan. For a search, it has the values of the axes, and the requests of all cells."""
        loaded: LoadedDatasets = []
        plan = plan_sweep(self._requests, self._store, self._console.print, loaded)
        reasons, more = self._plan_ranking(plan, loaded)
        if self._search and self._search_jobs:
            searched = self._search.planned
            plan = replace(plan, plan=plan_max_requests(searched, plan, self._requests, self._search_jobs, self._store))
            show_search(self._console, plan, searched.head())
        else:
            show_plan(self._console, plan, by_stage=self._run.plan_only)
        bounds = bound_lines(plan.plan, self._run.budget, self._prices)
        for line in (*more, *reasons, *bounds) if self._search else (*reasons, *bounds, *more):
            self._console.print(f"      {line}", markup=False)
        return plan

    def _plan_ranking(self, plan: SweepPlan, loaded: LoadedDatasets) -> tuple[list[str], list[str]]:
        """Choose the metric that ranks the cells, and plan the race or the search. Return the lines of the plan about
        the metric, and about the race or the search.
        """
        self._headline, reasons = planned_headline(plan.cells, self._store)
        if self._search_jobs:
            search = plan_search(plan.cells, self._search_jobs.space, self._headline, self._store)
            if search.objectives[0].name != self._headline:
                self._headline, reasons = search.objectives[0].name, []
            self._search = SweepSearch(search, self._search_jobs, self._store, loaded, self._print_note)
            return reasons, list(search.lines())
        race = plan_race(plan.cells, self._headline, self._store, is_part=self._is_part)
        if race and race.metric != self._headline:  # the race guarantees the winner by its own metric only
            self._headline, reasons = race.metric, []
        self._race = SweepRace(race, self._store, self._print_note) if race else None
        return reasons, list(race_lines(plan.cells, race, Path(self._run.results_dir)))

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False)

    def _print_note(self, line: str) -> None:
        """Print a line of the race or the search, and show it to watchers."""
        self._steering.note = line
        self._print(line)

    def _record_requests(self) -> None:
        """Record the requests of users while the sweep runs."""
        if self._plan:
            results.write_sweep(self._sweep_dir, self._describe(self._plan, RUNNING))

    def _warn(self, plan: SweepPlan) -> None:
        """Print warnings about long texts. Raises ComponentError if a model is unreachable, except for a plan."""
        try:
            for line in long_chunk_lines(plan.cells, self._store):
                self._console.print(line, style="yellow", markup=False)
        except ComponentError as error:
            if not self._run.plan_only:
                raise
            self._console.print(str(error), style="yellow", markup=False)

    def _describe_refusal(self, error: OSError) -> str:
        """Describe the path that the system refused, with advice."""
        cause = error.strerror or str(error)
        path = error.filename2 or error.filename  # if the error names two paths, the second was written
        if path and Path(path).is_relative_to(self._store.root):
            if isinstance(error, FileNotFoundError):
                return (
                    f"run.store_dir: {path} was deleted during the sweep. Run the same command again: finished "
                    "work is cached."
                )
            return (
                f"run.store_dir: {path} cannot be used: {cause}. Fix its permissions, delete it if it does "
                "not belong to the store, or choose another run.store_dir"
            )
        if error.errno is None:  # a library's error, such as one about a shared object that cannot be loaded
            return f"{cause}. Remove the cause, then run the same command again: finished work is cached."
        return (
            f"run.results_dir: cannot write to {self._shown_dir}: {cause}. Free some space or choose another "
            f"run.results_dir, then run the command again: finished work is cached in {self._store.root}."
        )

    def _run_plan(self, plan: SweepPlan) -> int:
        rounds = self._search.rounds() if self._search else iter([plan])
        n_cells, n_planned = 0, self._search.planned.n_cells if self._search else len(plan.cells)
        try:
            with self._workers:
                for plan in rounds:
                    n_cells += len(plan.cells)
                    self._run_round(plan)
        except KeyboardInterrupt:
            with suppress(KeyboardInterrupt):  # a second Ctrl-C does not wait for the log
                self._end(plan, INTERRUPTED)
            self._console.print(
                f"\nInterrupted: {len(self._done)} of {n_planned} cells are done. Run the same command again: "
                "finished work is cached."
            )
            return EXIT_INTERRUPTED
        except BudgetReached as reached:
            self._end(plan, INTERRUPTED)
            for line in self._closing_lines():
                self._print(line)
            n_done = f"{len(self._done)} of {n_planned} cells"
            raise BudgetReached(stopped_line(str(reached), self._limiter.spent, self._prices, n_done)) from reached
        except BaseException:  # without an end, the results would stay RUNNING forever
            self._end(plan, INTERRUPTED)
            raise
        finally:
            for line in self._hidden.lines():
                self._console.print(line, style="yellow", markup=False)
        forget_written_files(plan.plan.order, self._store)
        lost = [cell_id for cell_id in self._done if not (self._sweep_dir / cell_id / "cell.json").is_file()]
        are_complete = len(self._done) == n_cells and all(cell.status in (OK, STOPPED) for cell in self._done.values())
        failed = bool(lost) or not are_complete
        self._end(plan, FAILED if failed else OK)
        if lost:
            raise StoreError(
                f"run.results_dir: the results of {len(lost)} of {n_cells} cells were deleted from "
                f"{self._shown_dir} during the sweep. Run the same command again: finished work that is still in "
                "the store is cached."
            )
        self._report()
        return EXIT_CELL_FAILED if failed else EXIT_OK

    def _run_round(self, plan: SweepPlan) -> None:
        """Run the cells of a search's round, or all cells."""
        if self._search:  # the lease of all results lasts, because the next round will be planned
            self._begin(plan)
            self._execute(plan)
            results.write_sweep(self._sweep_dir, self._describe(plan, RUNNING))
            return
        needed = {stage.key for cell in plan.cells for stage in cell.graph.result.upstream()}
        self._store.leases.write(self._store.run_id, needed)
        self._begin(plan)
        self._execute(self._run_race(plan))

    def _closing_lines(self) -> Iterator[str]:
        """Yield lines about a race that a budget ended, or about a search."""
        if self._race:
            yield from self._race.live_lines()
        if self._search:
            yield from self._search.closing_lines(shlex.quote(str(self._shown_dir)))

    def _begin(self, plan: SweepPlan) -> None:
        self._plan = plan
        results.write_sweep(self._sweep_dir, self._describe(plan, RUNNING))
        if not self._has_begun:
            self._limiter.begin()
        discard(plan.plan.outdated, self._store)
        self._write_config(self._sweep_dir)
        if not self._has_begun:
            self._tracker.start()
        self._has_begun = True
        if not self._is_part:
            self._steering.begin(plan.cells)

    def _run_race(self, plan: SweepPlan) -> SweepPlan:
        """Run the race, if there is one, and return the plan of the cells that neither it nor the user stopped."""
        if self._race is None:
            return plan
        self._race.run(self._run_stages, self._steering.stopped)
        raced = self._race.stopped
        stopped = {*raced, *self._steering.stopped}
        for cell in plan.cells:
            if cell.cell_id in stopped:
                self._record(cell.cell_id, stopped_cell(cell, self._store, raced.get(cell.cell_id, {})), {})
        return drop_stopped_cells(plan, stopped, self._store)

    def _run_stages(self, order: Sequence[AnyStage]) -> list[StageRun]:
        if not order:
            return []
        with self._workers.running(order) as outcomes:
            runs = list(outcomes)
        for run in runs:
            self._hidden.add(run)
        return runs

    def _execute(self, plan: SweepPlan) -> None:
        """Run the stages. A cell is written and logged as soon as its last stage ends."""
        by_result = {cell.graph.result.key: cell for cell in plan.cells}
        order = plan.plan.order
        to_run = {stage.key for stage in order}
        runs: dict[str, StageRun] = {}
        progress = StageProgress(self._console, order, len(by_result), self._run.progress, with_kinds=not self._search)
        self._steering.progress = progress
        # Workers are forked here, before the progress bar starts a thread.
        with self._workers.running(order, progress.update) as outcomes:
            for key, cell in by_result.items():
                if key not in to_run:
                    self._finish_cell(cell, runs)
                    progress.cell_finished()
            with progress:
                for run in outcomes:
                    runs[run.key] = run
                    self._hidden.add(run)
                    progress.record_end(run.key, run.kind, 0.0 if run.reused else run.seconds)
                    for damage in run.damaged:
                        self._console.print(f"{damage}; the result is computed again")
                    if run.key in by_result:
                        self._finish_cell(by_result[run.key], runs)
                        progress.cell_finished()

    def _finish_cell(self, cell: PlannedCell, runs: Mapping[str, StageRun]) -> None:
        folder = self._sweep_dir / cell.cell_id
        run = runs.get(cell.graph.result.key)
        if run and run.error == GIVEN_UP:
            self._record(cell.cell_id, stopped_cell(cell, self._store, {}), {})
            return
        self._hidden.add_stored(cell.graph.result, self._store)
        result, files = collect_cell(cell, runs, self._store, self._run, self._headline, folder)
        self._record(cell.cell_id, result, files)

    def _record(self, cell_id: str, result: CellResult, files: Mapping[str, bytes]) -> None:
        """Write and log the result of a cell."""
        if self._search:
            result = self._search.record(result)
        results.write_cell(self._sweep_dir, result, files)
        self._done[cell_id] = select_ranked_part(result, self._headline)
        self._tracker.log_cell(self._sweep_dir / cell_id)

    def _end(self, plan: SweepPlan, status: str) -> None:
        with defer_ending_signals():
            results.write_sweep(self._sweep_dir, self._describe(plan, status))
            self._steering.end()
        if status == INTERRUPTED:
            self._tracker.finish(_LOGGING_AFTER_INTERRUPT_S)
        elif not self._makes_report:  # a report is logged before the end
            self._tracker.ask_to_finish()

    def _describe(self, plan: SweepPlan, status: str) -> SweepResult:
        return SweepResult(
            sweep_id=self._sweep_id,
            name=self._name,
            status=status,
            command=command_line(sys.argv[1:]),
            overrides=self._overrides,
            started=self._started,
            finished="" if status == RUNNING else _now(),
            cells=tuple(self._describe_cell(cell, status) for cell in plan.cells),
            plan=plan.summary(),
            headline=self._headline,
            spent=self._limiter.spent.facts(self._prices.currency),
            search=self._search.describe() if self._search else {},
            steered=tuple(self._steering.requests),
        )

    def _describe_cell(self, cell: PlannedCell, status: str) -> dict[str, Json]:
        """Describe a cell. Without a result, it has the status of the sweep."""
        result = self._done.get(cell.cell_id)
        return {
            "cell_id": cell.cell_id,
            "status": result.status if result else status,
            "reason": result.reason if result else "",
            "axes": cell.axes,
            "overrides": list(cell.request.job.overrides),
            "same_as": [list(request.job.overrides) for request in cell.same_as],
        }

    def _finished_cells(self) -> Iterator[CellResult]:
        """Yield all finished cells of the sweep. Reads the cells of other processes, which Hydra's launchers start."""
        for folder in results.cell_folders(self._sweep_dir):
            yield self._done.get(folder.name) or select_ranked_part(results.read_cell(folder), self._headline)

    def _report_results(self, sweep_cells: Sequence[CellResult]) -> None:
        stopped = [cell for cell in sweep_cells if cell.status == STOPPED]
        cells = [cell for cell in sweep_cells if cell.status != STOPPED]
        standings = find_standings(cells, self._sweep_dir, self._headline)
        common, ordered, metrics = standings.common, standings.ordered, headlines(cells, self._headline)
        axes = find_shown_axes(sweep_cells)
        search = search_text(self._search.describe()) if self._search else ""
        results.write_leaderboard(self._sweep_dir, leaderboard_csv([*ordered, *stopped], axes, metrics, common, search))
        rows, common = join_draws(ordered, common)
        metrics, rows = rank_cells(rows, self._headline, common)
        rows = put_leaders_first(rows, standings.leaders)
        equal = equal_rows(rows, self._sweep_dir, metrics[0]) if metrics else {}
        first_row = first_row_line(standings, stopped)
        terminal.show_leaderboard(self._console, metrics, rows, common, equal, first_row, stopped)
        terminal.show_stopped(self._console, sweep_cells)
        terminal.show_subsets(self._console, metrics, terminal.cells_with_row(rows, equal))
        sweep_warnings.show_answer_states(self._console, cells)
        sweep_warnings.show_unreadable_replies(self._console, cells)
        sweep_warnings.show_truncated_texts(self._console, cells)
        sweep_warnings.show_steps(self._console, cells)
        sweep_warnings.show_failures(self._console, cells)

    def _report(self) -> None:
        cells = list(self._finished_cells())
        try:
            self._report_results(cells)
        except Exception as error:  # noqa: BLE001 - nothing of the sweep depends on its report
            print_error(f"the results are complete, but could not be displayed: {type(error).__name__}: {error}")
        for line in money_lines(cells, self._limiter.spent, self._prices):
            self._console.print(line, markup=False)
        for line in self._search.closing_lines(shlex.quote(str(self._shown_dir))) if self._search else ():
            self._print(line)
        elapsed = timedelta(seconds=round(time.monotonic() - self._began_at))
        self._console.print(f"elapsed:  {elapsed} for {len(self._done):,} cell{'' if len(self._done) == 1 else 's'}")
        self._console.print(f"results:  {self._shown_dir}")
        has_report = self._makes_report and self._write_report()
        self._tracker.finish(announce=self._console.print)
        folder = shlex.quote(str(self._shown_dir))
        for line in tracking_lines(self._tracker, folder):
            self._console.print(line, soft_wrap=True)
        for line in next_lines(self._tracker, folder, has_report=has_report):
            self._console.print(line, soft_wrap=True)

    def _write_report(self) -> bool:
        """Write the report, and return whether that succeeded. Print the reason if not."""
        if error := write_report(self._sweep_dir):
            self._console.print(
                f"no report was written ({error}); the results are complete", style="yellow", markup=False
            )
            return False
        self._console.print(f"report:   {self._shown_dir / PAGE}")
        return True


def _create_folder(results_dir: Path) -> Path:
    try:
        results_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"run.results_dir: cannot create the folder {results_dir}: {error.strerror or error}. Choose another "
            "run.results_dir"
        ) from error
    return results_dir


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def command_line(arguments: Sequence[str]) -> str:
    """Return the command with these arguments, as a shell reads it.

    An empty value is written as two quotes. Otherwise, the next argument would be masked as the value of a key.
    """
    quoted = [f"{word}''" if word.endswith("=") else word for word in map(shlex.quote, arguments)]
    return " ".join(["python -m runner", *quoted])
