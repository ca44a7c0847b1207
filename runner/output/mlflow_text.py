"""What MLflow's pages say about a sweep in words: names of runs, and the description of the parent run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from components.json_value import Json
from components.subsets import OVERALL
from runner.console.display import printable
from runner.output.standings import MOST_TESTED, Standings
from runner.results import OK, CellResult, SweepResult, larger_is_better
from runner.results.cell_axes import change_name, common_base
from runner.results.choice_wording import choice_text, samples_text

_MOST_ROWS = 10
_LONGEST = 5000


def run_name(axes: Mapping[str, Json], varied: Sequence[str], base: Mapping[str, Json] | None = None) -> str:
    """What varies, shortest first to read in a narrow column: "hybrid size=128 top_k=4". With a base (see
    `axes.common_base`) what is changed of it: "refiner=tables".
    """
    if base is not None:
        return change_name(axes, base)
    return " ".join(_named(name, axes[name]) for name in varied if axes.get(name) is not None)


def _named(axis: str, value: Json) -> str:
    """The name of a component says what it is; of a number one wants to know what it counts."""
    is_component = isinstance(value, str) and "." not in axis
    return str(value) if is_component else f"{axis.rpartition('.')[2]}={value}"


class Pages(NamedTuple):
    """Addresses in MLflow: of all cells as a table, of the best cell's samples beside another's, of the sweep's report;
    "" without.
    """

    cells: str
    samples: str = ""
    report: str = ""


def description(sweep: SweepResult, folder: Path, standings: Standings, axes: Sequence[str], pages: Pages) -> str:
    """Markdown: which cell to take and why, how the sweep ended, and what was swept.

    `folder` is the sweep's.
    """
    cells = standings.ordered
    base = common_base((cell.axes for cell in cells), axes)
    n_complete = sum(cell.status == OK for cell in cells)
    swept = "; ".join(f"{axis} = {swept_values(sweep, axis)}" for axis in axes)
    table = f"**[All cells as a table]({pages.cells})**: {n_complete} of {len(cells)} complete."
    samples = f" **[Samples of the first cells side by side]({pages.samples})**." if pages.samples else ""
    here = _plain(str(folder))
    report = f" **[Report]({pages.report})**: what to take for which task, why, where it fails." if pages.report else ""
    parts = [
        *_best(standings, axes, base),
        f"{table}{samples}{report}",
        *([] if pages.report else [f"A report of all this: `python -m analysis report {here}`"]),
        f"Swept: {_plain(swept)}",
        *([_first_rows(cells, axes, standings.metrics[0], base)] if standings.metrics else []),
        *_compare(standings, here),
        f"The command: `{_plain(sweep.command)}`",
    ]
    return "\n\n".join(parts)[:_LONGEST]


def _compare(standings: Standings, here: str) -> list[str]:
    if standings.best is None:
        return []
    command = f"python -m analysis compare {here} --metric {_plain(standings.metrics[0])}"
    return [f"All cells against the best one, with tests: `{command}`"]


def swept_values(sweep: SweepResult, axis: str) -> str:
    """Return the values of an axis in the order of the command: "64, 128"."""
    values = [cell["axes"].get(axis) for cell in sweep.cells]
    return ", ".join(dict.fromkeys(str(value) for value in values if value is not None))


def _best(standings: Standings, axes: Sequence[str], base: Mapping[str, Json] | None) -> list[str]:
    """The cell to take, in the words of the report; where cells were not tested, the one with the best mean."""
    best, cells = standings.best, standings.ordered
    if best is None:
        return []
    metric = standings.metrics[0]
    if standings.choice:
        text = choice_text(
            standings.choice,
            metric,
            _over(standings, standings.choice.cell, metric),
            lambda cell: run_name(cell.axes, axes, base) or cell.cell_id,
            larger_is_better=bool(larger_is_better(metric, cells)),
        )
        pieces = (f"**{_plain(piece)}**" if place % 2 else _plain(piece) for place, piece in enumerate(text.pieces))
        return ["".join(pieces)]
    n_tied = sum(_mean(standings, cell) == _mean(standings, best) for cell in cells if cell.status == OK) - 1
    tied = f", tied with {n_tied} other{'s' if n_tied > 1 else ''}" if n_tied else ""
    untested = f" More than {MOST_TESTED} cells are not tested here; the report tests them." if len(cells) > 1 else ""
    name = f"**{_name(best, axes, base)}** ({best.cell_id})"
    return [f"Best by {_plain(metric)}: {name}, {_value(best, metric)}{tied}.{untested}"]


def _over(standings: Standings, cell: CellResult, metric: str) -> str:
    common, entry = standings.common, cell.metrics[OVERALL][metric]
    n, n_left_out = int(entry["n"]), sum((entry.get("n_excluded") or {}).values())
    known = (common.n, common.n_known) if common.n_known else (n, n + n_left_out)
    return samples_text("all samples", *known)


def _mean(standings: Standings, cell: CellResult) -> float | None:
    return standings.common.of(cell, standings.metrics[0])


def _name(cell: CellResult, axes: Sequence[str], base: Mapping[str, Json] | None) -> str:
    return _plain(run_name(cell.axes, axes, base)) or cell.cell_id


def _first_rows(cells: Sequence[CellResult], axes: Sequence[str], metric: str, base: Mapping[str, Json] | None) -> str:
    ranked = [cell for cell in cells if cell.value(metric) is not None]
    direction = ", smaller is better" if larger_is_better(metric, cells) is False else ""
    cut = f" (the first {_MOST_ROWS} of {len(ranked)})" if len(ranked) > _MOST_ROWS else ""
    rows = [
        f"| {_plain(run_name(cell.axes, axes, base))} | {cell.cell_id} | {_value(cell, metric)} |"
        for cell in ranked[:_MOST_ROWS]
    ]
    return "\n".join([f"| cells{cut} | id | {_plain(metric)}{direction} [95% interval] |", "|---|---|---|", *rows])


def _value(cell: CellResult, metric: str) -> str:
    entry = cell.metrics[OVERALL][metric]
    interval = "" if entry["ci_low"] is None else f" [{entry['ci_low']:.4f}, {entry['ci_high']:.4f}]"
    return f"{entry['value']:.4f}{interval}"


def _plain(words: str) -> str:
    """Nothing in it ends a cell of a table, a line or code, starts a tag, or turns the direction of writing round."""
    return printable(words).replace("|", "/").replace("`", "'").replace("<", "&lt;").replace("\n", " ")
