"""Texts of MLflow's pages: names of runs, and the description of the parent run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from components.json_value import Json
from components.subsets import OVERALL
from runner.console.display import escape_control
from runner.output.standings import MAX_TESTED_CELLS, RankedCells, untested_advice
from runner.results import OK, STOPPED, CellResult, SweepResult, larger_is_better, name_stopper, race_winner_text
from runner.results.cell_axes import change_name, common_base
from runner.results.choice_wording import choice_text, samples_text
from runner.results.partial_sweeps import chose_by_scores, search_text

_MAX_ROWS = 10
_MAX_CHARACTERS = 5000


def run_name(axes: Mapping[str, Json], varied: Sequence[str], base: Mapping[str, Json] | None = None) -> str:
    """Return the values of the axes that vary, short enough for a narrow column: "hybrid size=128 top_k=4".

    With a base (see `common_base`), only the change from it is named: "refiner=tables".
    """
    if base is not None:
        return change_name(axes, base)
    return " ".join(_axis_name(name, axes[name]) for name in varied if axes.get(name) is not None)


def _axis_name(axis: str, value: Json) -> str:
    """Return only the value for a component, whose name explains itself, and "name=value" for other axes."""
    is_component = isinstance(value, str) and "." not in axis
    return str(value) if is_component else f"{axis.rpartition('.')[2]}={value}"


class Pages(NamedTuple):
    """Addresses of pages in MLflow, or "": all cells as a table, samples of two cells side by side, and the report."""

    cells: str
    samples: str = ""
    report: str = ""


def description(sweep: SweepResult, folder: Path, standings: RankedCells, axes: Sequence[str], pages: Pages) -> str:
    """Return Markdown that says which cell to take and why, how the sweep ended, and what was swept.

    `folder` is the sweep's folder.
    """
    cells = standings.ordered
    base = common_base((cell.axes for cell in cells), axes)
    n_complete = sum(cell.status == OK for cell in cells)
    swept = "; ".join(f"{axis} = {swept_values(sweep, axis)}" for axis in axes)
    without_rank = [cell for cell in cells if cell.status == STOPPED]
    stopped = f", {len(without_rank)} stopped by {name_stopper(without_rank)}" if without_rank else ""
    searched = f" {search_text(sweep.search).capitalize()}." if sweep.search else ""
    table = f"**[All cells as a table]({pages.cells})**: {n_complete} of {len(cells)} complete{stopped}.{searched}"
    samples = f" **[Samples of the first cells side by side]({pages.samples})**." if pages.samples else ""
    here = _escape(str(folder))
    report = (
        f" **[Report]({pages.report})**: which cell to take for each task, why, and where it fails."
        if pages.report
        else ""
    )
    parts = [
        *_best(standings, axes, base),
        f"{table}{samples}{report}",
        *([] if pages.report else [f"To write a report: `python -m analysis report {here}`"]),
        f"Swept: {_escape(swept)}",
        *([_first_rows(cells, axes, standings.metrics[0], base)] if standings.metrics else []),
        *_compare(standings, here, sweep.search),
        f"Command: `{_escape(sweep.command)}`",
    ]
    return "\n\n".join(parts)[:_MAX_CHARACTERS]


def _compare(standings: RankedCells, here: str, search: Mapping[str, Json]) -> list[str]:
    if standings.best is None:
        return []
    command = f"python -m analysis compare {here} --metric {_escape(standings.metrics[0])}"
    if chose_by_scores(search):
        return [f"To test all cells against a baseline that was chosen beforehand: `{command} --baseline CELL`"]
    return [f"To test all cells against the best one: `{command}`"]


def swept_values(sweep: SweepResult, axis: str) -> str:
    """Return the values of an axis in the order of the command: "64, 128"."""
    values = [cell["axes"].get(axis) for cell in sweep.cells]
    return ", ".join(dict.fromkeys(str(value) for value in values if value is not None))


def _best(standings: RankedCells, axes: Sequence[str], base: Mapping[str, Json] | None) -> list[str]:
    """Return a sentence about the cell to take, as in the report, or about the best mean if cells were not tested."""
    best, cells = standings.best, standings.ordered
    if best is None:
        return []
    metric = standings.metrics[0]
    if standings.choice:
        text = choice_text(
            standings.choice,
            metric,
            _coverage(standings, standings.choice.cell, metric),
            lambda cell: run_name(cell.axes, axes, base) or cell.cell_id,
            larger_is_better=bool(larger_is_better(metric, cells)),
        )
        pieces = (f"**{_escape(piece)}**" if i % 2 else _escape(piece) for i, piece in enumerate(text.pieces))
        return ["".join(pieces)]
    n_tied = sum(_mean(standings, cell) == _mean(standings, best) for cell in cells if cell.status == OK) - 1
    tied = f", tied with {n_tied} other{'s' if n_tied > 1 else ''}" if n_tied else ""
    stopped = [cell for cell in cells if cell.status == STOPPED]
    why = untested_advice() if sum(cell.status == OK for cell in cells) > MAX_TESTED_CELLS else ""
    if len(stopped) == len(cells) - 1:
        why = race_winner_text(stopped)
    untested = f" {why}" if why else ""
    name = f"**{_name(best, axes, base)}** ({best.cell_id})"
    return [f"Best by {_escape(metric)}: {name}, {_value(best, metric)}{tied}.{untested}"]


def _coverage(standings: RankedCells, cell: CellResult, metric: str) -> str:
    common, entry = standings.common, cell.metrics[OVERALL][metric]
    n, n_left_out = int(entry["n"]), sum((entry.get("n_excluded") or {}).values())
    counts = (common.n, common.n_known) if common.n_known else (n, n + n_left_out)
    return samples_text("all samples", *counts)


def _mean(standings: RankedCells, cell: CellResult) -> float | None:
    return standings.common.mean(cell, standings.metrics[0])


def _name(cell: CellResult, axes: Sequence[str], base: Mapping[str, Json] | None) -> str:
    return _escape(run_name(cell.axes, axes, base)) or cell.cell_id


def _first_rows(cells: Sequence[CellResult], axes: Sequence[str], metric: str, base: Mapping[str, Json] | None) -> str:
    ranked = [cell for cell in cells if cell.value(metric) is not None]
    direction = ", smaller is better" if larger_is_better(metric, cells) is False else ""
    cut = f" (the first {_MAX_ROWS} of {len(ranked)})" if len(ranked) > _MAX_ROWS else ""
    rows = [
        f"| {_escape(run_name(cell.axes, axes, base))} | {cell.cell_id} | {_value(cell, metric)} |"
        for cell in ranked[:_MAX_ROWS]
    ]
    return "\n".join([f"| cells{cut} | id | {_escape(metric)}{direction} [95% interval] |", "|---|---|---|", *rows])


def _value(cell: CellResult, metric: str) -> str:
    entry = cell.metrics[OVERALL][metric]
    interval = "" if entry["ci_low"] is None else f" [{entry['ci_low']:.4f}, {entry['ci_high']:.4f}]"
    return f"{entry['value']:.4f}{interval}"


def _escape(words: str) -> str:
    """Escape characters that end a table cell, a line or code, start a tag, or reverse the direction of writing."""
    return escape_control(words).replace("|", "/").replace("`", "'").replace("<", "&lt;").replace("\n", " ")
