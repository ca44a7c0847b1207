"""What MLflow's pages say about a sweep in words: names of runs, and the description of the parent run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from components.json_value import Json
from components.subsets import OVERALL
from runner.display import printable
from runner.results import OK, CellResult, SweepResult, change_name, common_base, larger_is_better

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


def description(
    sweep: SweepResult,
    folder: Path,
    cells: Sequence[CellResult],
    axes: Sequence[str],
    metrics: Sequence[str],
    link: str,
) -> str:
    """Markdown: what was swept, how it ended, and which cells come first by the first of `metrics`, if there is one.

    `cells` are in the order of the leaderboard; `folder` is the sweep's, `link` its page in MLflow.
    """
    base = common_base((cell.axes for cell in cells), axes)
    n_complete = sum(cell.status == OK for cell in cells)
    swept = "; ".join(f"{axis} = {_values(sweep, axis)}" for axis in axes)
    parts = [
        *(
            [_best(cells, axes, metrics[0], base)]
            if metrics and larger_is_better(metrics[0], cells) is not None
            else []
        ),
        f"**[All cells as a table]({link})**: {n_complete} of {len(cells)} complete.",
        f"Swept: {_plain(swept)}",
        *([_first_rows(cells, axes, metrics[0], base)] if metrics else []),
        f"Which differences are more than noise: `python -m analysis compare {_plain(str(folder))}`",
        f"The command: `{_plain(sweep.command)}`",
    ]
    return "\n\n".join(parts)[:_LONGEST]


def _values(sweep: SweepResult, axis: str) -> str:
    """In the order of the command."""
    values = [cell["axes"].get(axis) for cell in sweep.cells]
    return ", ".join(dict.fromkeys(str(value) for value in values if value is not None))


def _best(cells: Sequence[CellResult], axes: Sequence[str], metric: str, base: Mapping[str, Json] | None) -> str:
    name = _plain(run_name(cells[0].axes, axes, base))
    return f"Best by {_plain(metric)}: **{name}** ({cells[0].cell_id}), {_value(cells[0], metric)}"


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
