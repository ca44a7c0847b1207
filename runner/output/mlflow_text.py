"""What MLflow's pages say about a sweep in words: names of runs, and the description of the parent run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from components.json_value import Json
from components.subsets import OVERALL
from runner.display import printable
from runner.output.standings import ALPHA, Standings
from runner.results import OK, CellResult, SweepResult, change_name, common_base, larger_is_better

REPORT = "report.html"
"""What `python -m analysis report` writes into the sweep's folder, with others of that name."""

_MOST_ROWS = 10
_LONGEST = 5000


def run_name(axes: Mapping[str, Json], varied: Sequence[str], base: Mapping[str, Json] | None = None) -> str:
    """What varies, shortest first to read in a narrow column: "hybrid size=128 top_k=4". With a base (see
    `results.common_base`) what is changed of it: "refiner=tables".
    """
    if base is not None:
        return change_name(axes, base)
    return " ".join(_named(name, axes[name]) for name in varied if axes.get(name) is not None)


def _named(axis: str, value: Json) -> str:
    """The name of a component says what it is; of a number one wants to know what it counts."""
    is_component = isinstance(value, str) and "." not in axis
    return str(value) if is_component else f"{axis.rpartition('.')[2]}={value}"


class Pages(NamedTuple):
    """Addresses in MLflow: of all cells as a table, and of the best cell's samples beside another's, "" without."""

    cells: str
    samples: str = ""


def description(sweep: SweepResult, folder: Path, standings: Standings, axes: Sequence[str], pages: Pages) -> str:
    """Markdown: what was swept, how it ended, which cell is best and by how much, and which may be as good.

    `folder` is the sweep's; a report that lies in it is named.
    """
    cells = standings.ordered
    base = common_base((cell.axes for cell in cells), axes)
    n_complete = sum(cell.status == OK for cell in cells)
    swept = "; ".join(f"{axis} = {_values(sweep, axis)}" for axis in axes)
    table = f"**[All cells as a table]({pages.cells})**: {n_complete} of {len(cells)} complete."
    samples = f" **[Samples of the first cells side by side]({pages.samples})**." if pages.samples else ""
    here = _plain(str(folder))
    report = "**report.html** among the artifacts: what to take for which task, what it costs, where it fails."
    parts = [
        *_best(standings, axes, base),
        table + samples,
        report if (folder / REPORT).is_file() else f"A report of all this: `python -m analysis report {here}`",
        f"Swept: {_plain(swept)}",
        *([_first_rows(cells, axes, standings.metrics[0], base)] if standings.metrics else []),
        f"Which differences are more than noise: `python -m analysis compare {here}`",
        f"The command: `{_plain(sweep.command)}`",
    ]
    return "\n\n".join(parts)[:_LONGEST]


def _values(sweep: SweepResult, axis: str) -> str:
    """In the order of the command."""
    values = [cell["axes"].get(axis) for cell in sweep.cells]
    return ", ".join(dict.fromkeys(str(value) for value in values if value is not None))


def _best(standings: Standings, axes: Sequence[str], base: Mapping[str, Json] | None) -> list[str]:
    """The best cell, how far it is ahead, and which others may be the best."""
    best, cells = standings.best, standings.ordered
    if best is None:
        return []
    metric = standings.metrics[0]
    value = standings.common.of(best, metric)
    lines = [f"Best by {_plain(metric)}: **{_name(best, axes, base)}** ({best.cell_id}), {_value(best, metric)}"]
    for cell in cells[1:]:
        other = standings.common.of(cell, metric)
        if value is not None and other is not None and cell.status == OK and other != value:
            lines[0] += f"; {abs(value - other):.4f} ahead of the next, {_name(cell, axes, base)}"
            break
    if standings.tied:
        named = ", ".join(_name(cell, axes, base) for cell in standings.tied[:_MOST_ROWS])
        more = f" and {len(standings.tied) - _MOST_ROWS} more" if len(standings.tied) > _MOST_ROWS else ""
        lines.append(
            f"Not told apart from it by these samples ({1 - ALPHA:.0%} sure that the truly best one is among them): "
            f"{named}{more}"
        )
    elif standings.may_be_best:
        lines.append(f"Better than the other {len(standings.may_be_best) - 1} by more than chance explains.")
    return lines


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
    return "\n".join([f"| cells{cut} | id | {_plain(metric)}{direction} |", "|---|---|---|", *rows])


def _value(cell: CellResult, metric: str) -> str:
    entry = cell.metrics[OVERALL][metric]
    interval = "" if entry["ci_low"] is None else f" [{entry['ci_low']:.4f}, {entry['ci_high']:.4f}]"
    return f"{entry['value']:.4f}{interval}"


def _plain(words: str) -> str:
    """Nothing in it ends a cell of a table, a line or code, starts a tag, or turns the direction of writing round."""
    return printable(words).replace("|", "/").replace("`", "'").replace("<", "&lt;").replace("\n", " ")
