"""The state of a sweep, read from its files, as the terminal and the page show it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from analysis.report.answer_section import Figure
from analysis.report.cells_section import CellTable, by_reason, cell_table
from analysis.report.report_input import ComparedCells, ReportSource
from components.json_value import Json
from components.subsets import OVERALL
from runner.console.styled_text import count, duration
from runner.results import (
    FAILED,
    INTERRUPTED,
    KILLED,
    OK,
    RUNNING,
    STOPPED,
    CellResult,
    LiveSweep,
    LoadedSweep,
    SweepResult,
    read_cell,
    read_live,
    read_sweep,
)

ONLY_FINISHED = (
    "Only finished cells are shown, with intervals of values, not of differences. Another cell may still turn out the "
    "best."
)

_RESUME = "Run the sweep's command again: finished work is cached."
_IN_WORDS = {
    OK: "finished",
    FAILED: "finished, with cells that failed",
    INTERRUPTED: f"interrupted. {_RESUME}",
    KILLED: f"killed: its process has ended. {_RESUME}",
    RUNNING: "running",
}


@dataclass(frozen=True)
class WatchedSweep:
    """A sweep at one moment.

    `figures` are cells, elapsed time, time left and spending. `lines` are the stages that run, the last line of a race
    or a search, and requests of users. `table` has the finished cells, or is None if no cell has finished.
    """

    sweep: str
    state: str
    is_running: bool
    figures: tuple[Figure, ...]
    lines: tuple[str, ...]
    axes: tuple[str, ...]
    table: CellTable | None
    failed: tuple[tuple[str, tuple[str, ...]], ...]
    stopped: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass
class Watcher:
    """Polls the state of a sweep. An unchanged cell is read only once."""

    folder: Path
    _cells: dict[str, tuple[int, CellResult]] = field(default_factory=dict)

    def look(self) -> WatchedSweep:
        """Return the present state. Raises DataError if a file cannot be read."""
        described = read_sweep(self.folder)
        live = read_live(self.folder, described)
        ended = {cell.cell_id: cell for cell in self._read_ended_cells(described)}
        # Cells without a result have their names from here, so that the columns of axes do not change meanwhile.
        cells = [ended.get(each["cell_id"]) or _pending_cell(each) for each in described.cells]
        sweep = LoadedSweep(self.folder, tuple(cells), headline=described.headline)
        source = ReportSource(sweep, described, ())
        return WatchedSweep(
            sweep=self.folder.name,
            state="paused" if live.progress and live.progress.is_paused and live.state == RUNNING else _state(live),
            is_running=live.state == RUNNING,
            figures=(*_cell_figures(described, live, ended), *_time_figures(described, live), _spent_figure(live)),
            lines=tuple(_lines(described, live)),
            axes=tuple(source.names.axes),
            table=_table(source),
            failed=by_reason(source, sweep.failed),
            stopped=by_reason(source, sweep.stopped),
        )

    def _read_ended_cells(self, described: SweepResult) -> Iterator[CellResult]:
        for each in described.cells:
            file = self.folder / each["cell_id"] / "cell.json"
            try:
                changed = file.stat().st_mtime_ns
            except OSError:
                continue
            before = self._cells.get(each["cell_id"])
            if before is None or before[0] != changed:
                self._cells[each["cell_id"]] = changed, read_cell(file.parent)
            yield self._cells[each["cell_id"]][1]


def _pending_cell(described: Mapping[str, Json]) -> CellResult:
    return CellResult(described["cell_id"], RUNNING, described.get("axes", {}), (), {}, {})


def _state(live: LiveSweep) -> str:
    return _IN_WORDS[live.state]


def _table(source: ReportSource) -> CellTable | None:
    """Return the finished cells by the metric that ranks the sweep."""
    names = source.sweep.headlines()
    metric = source.sweep.metric(f"{OVERALL}:{names[0]}") if names else None
    if metric is None or metric.larger_is_better is None or not source.list_cells_with_value(metric):
        return None
    return cell_table(source, ComparedCells(metric))


def _cell_figures(described: SweepResult, live: LiveSweep, ended: Mapping[str, CellResult]) -> Iterator[Figure]:
    n_all = max(len(described.cells), described.search.get("n_cells", 0) if live.state == RUNNING else 0)
    n_of = {status: sum(cell.status == status for cell in ended.values()) for status in (OK, FAILED, STOPPED)}
    n_left = n_all - len(ended)
    n_running = min(live.progress.n_cells_running, n_left) if live.progress and live.state == RUNNING else 0
    counts = {"running": n_running, "failed": n_of[FAILED], "stopped": n_of[STOPPED], "left": n_left - n_running}
    note = ", ".join(f"{n:,} {what}" for what, n in counts.items() if n)
    yield Figure("Cells done", f"{n_of[OK]:,} of {n_all:,}", note)


def _time_figures(described: SweepResult, live: LiveSweep) -> Iterator[Figure]:
    now = datetime.now(UTC)
    start, end = _time(described.started) or now, _time(described.finished) or now
    if live.state == KILLED and live.progress:
        end = datetime.fromtimestamp(live.progress.written, UTC)
    seconds = max((end - start).total_seconds(), 0.0)
    yield Figure("Elapsed", duration(seconds), f"since {start.astimezone():%Y-%m-%d %H:%M:%S}")
    progress = live.progress
    if live.state != RUNNING or progress is None:
        return
    stages = f"{progress.n_stages_done:,} of {progress.n_stages:,} stages"
    if progress.left_s is None:
        early = "no estimate during a race, and before the first stages"
        why = f"{stages} done; an estimate needs one of each kind that is left" if progress.n_stages else early
        yield Figure("Time left", "not known yet", why)
    else:
        seconds_left = max(progress.left_s - (now.timestamp() - progress.written) * (not progress.is_paused), 0.0)
        yield Figure("Time left", _rough_duration(seconds_left), f"at the pace of the {stages} so far")


def _rough_duration(seconds: float) -> str:
    if seconds < 60:
        return "less than a minute"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.1f} h"


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:  # a sweep that has not ended has ""
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _spent_figure(live: LiveSweep) -> Figure:
    spent, budget = live.spent, live.progress.budget if live.progress else {}
    n_requests = int(spent.get("n_requests") or 0)
    n_tokens = int((spent.get("n_prompt_tokens") or 0) + (spent.get("n_completion_tokens") or 0))
    currency, cost = spent.get("currency", ""), spent.get("cost")
    amounts = [
        _amount_text(f"{n_requests:,}", budget.get("run.max_requests"), "requests"),
        _amount_text(f"{n_tokens:,}", budget.get("run.max_tokens"), "tokens"),
    ]
    if "run.max_cost" in budget:
        amounts.append(_amount_text(_money(cost or 0.0), budget["run.max_cost"], currency))
    if spent.get("n_unpriced"):
        amounts.append("cost unknown: no price list names the model")
    value = f"{_money(cost)} {currency}" if cost else count(n_requests, "request") if n_requests else "nothing"
    return Figure("Spent", value, ", ".join(amounts) + ("" if budget or not live.progress else "; no budget is set"))


def _amount_text(amount: str, limit: float | None, unit: str) -> str:
    return f"{amount} {unit}" if limit is None else f"{amount} of at most {limit:,g} {unit}"


def _money(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{amount:.4f}"


def _lines(described: SweepResult, live: LiveSweep) -> Iterator[str]:
    if live.progress and live.state == RUNNING:
        running = [
            f"{each['title']} ({count(each['n'], 'stage')}"
            + (f", for {count(each['n_cells'], 'cell')})" if each["n_cells"] else ")")
            for each in live.progress.running
        ]
        yield f"Running: {', '.join(running) or 'no stage'}"
    if live.progress and live.progress.note:
        yield live.progress.note
    if described.steered:
        actions = (f"{each.get('action')} {each.get('cell_id', '')}".strip() for each in described.steered[-5:])
        yield f"By the user: {', '.join(actions)}"
