"""python -m analysis pareto: the front of quality and cost.

It has the cells for which no other cell is at least as good and at least as cheap, and better in one.
"""

import argparse
from collections.abc import Callable, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from analysis import table_output as terminal
from analysis.table_output import BOLD, Marks, TableColumn
from components.errors import DataError
from components.statistics import dominators
from runner import results
from runner.console.command_parser import METRIC, SWEEP
from runner.console.display import significant_digits
from runner.console.styled_text import count
from runner.results import (
    COSTS,
    OK,
    PER_COST,
    TOKENS,
    CellResult,
    SubsetMetric,
    common_means,
    count_tokens_per_sample,
)

_BY_DEFAULT = (*TOKENS, "seconds")
"""Kinds of cost by preference. Without a language model, no tokens are counted."""
_PER_PRICE = 1_000_000
_COST_DIGITS = 4
_FRONT = "[bold]front[/]"
_N_BEATEN = 20
"""Maximum number of dominated cells in the terminal's table. More of them hide the front."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("--metric", default="", metavar="METRIC", help=METRIC)
    parser.add_argument(
        "--against",
        choices=COSTS,
        metavar="COST",
        help=f"kind of cost: %(choices)s (default: the first of {', '.join(_BY_DEFAULT)} that is known)",
    )
    parser.add_argument(
        "--price-prompt",
        type=_price,
        metavar="PRICE",
        help="price per million prompt tokens; overrides the price list",
    )
    parser.add_argument(
        "--price-completion",
        type=_price,
        metavar="PRICE",
        help=("price per million completion tokens; overrides the price list"),
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"show dominated cells too (default: only if there are at most {_N_BEATEN})",
    )
    terminal.add_format(parser)


def _price(text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = float("nan")
    if not 0 <= price < float("inf"):
        raise argparse.ArgumentTypeError(f"got {text}, expected at least 0")
    return price


def run(options: argparse.Namespace) -> int:
    """Print the cells from the cheapest to the most expensive, with the front marked. Returns 0.

    Raises DataError if no cell has a value of the metric, or all costs are 0 or unknown.
    """
    prices = _prices(options)
    sweep = results.load(options.sweep)
    metric = sweep.metric(options.metric or sweep.headline_metric())
    valued = results.without_bounds(
        [cell for cell in sweep.cells if cell.status == OK and metric.value(cell) is not None]
    )
    head, cost_of = _cost(options.against, prices, valued)
    costed = [cell for cell in valued if not np.isnan(cost_of(cell))]
    common = common_means(costed, sweep.folder_of, metric.metric, metric.subset)
    # Without a sample in common with the others, a cell's own mean says nothing against theirs.
    apart = [cell for cell in costed if common.by_cell and cell.cell_id not in common.by_cell]
    cells = [cell for cell in costed if cell not in apart]
    costs = np.array([cost_of(cell) for cell in cells], dtype=np.float64)
    if not valued:
        raise DataError(f"{sweep.folder}: {results.all_failed_text(sweep.cells) or f'no cell has a value of {metric}'}")
    if not costs.any():
        raise DataError(
            f"{sweep.folder}: {head} are 0 or unknown in {count(len(valued), 'cell')} with a value. Choose another "
            "cost, such as --against seconds."
        )
    order = np.argsort(costs, kind="stable")
    console = terminal.make_console(options.format)
    values = np.array([common.mean(cell, metric.metric, metric.subset) for cell in cells], dtype=np.float64)
    axes = results.shown_axes(sweep.cells)
    columns = _columns([cells[i] for i in order], metric, values[order], head, costs[order], axes)
    on_front = [mark == _FRONT for mark in columns[-1].cells]
    n_beaten = on_front.count(False)
    is_short = options.format == "terminal" and not options.all and n_beaten > _N_BEATEN
    if is_short:
        columns = [column._replace(cells=list(compress(column.cells, on_front))) for column in columns]
    marks = Marks([BOLD if mark == _FRONT else "" for mark in columns[-1].cells], "on the front")
    terminal.show_table(console, f"{metric} against {head}", columns, marks)
    console.print("[dim]the front compares means only; `compare` tests whether two cells differ[/]")
    if is_short:
        console.print(f"[dim]{n_beaten:,} dominated cells are not shown; --all shows them[/]")
    if common.by_cell:
        console.print(f"[dim]means over the {common.n} of {common.n_known} samples for which every cell has a value[/]")
    for cell in apart:
        console.print(f"no sample in common with the others, not compared: {cell.cell_id[:8]}")
    for cell in valued:
        if cell not in costed:
            console.print(f"not compared, because its {head} are unknown: {cell.cell_id[:8]}")
    if line := sweep.left_out(len(valued), leaves_out_bounds=True):
        console.print(f"[dim]{line}[/]")
    return 0


def _prices(options: argparse.Namespace) -> dict[str, float]:
    """Return the given prices by kind of tokens, none unless the cost is money. Raises DataError for one alone."""
    prices = {"prompt": options.price_prompt, "completion": options.price_completion}
    given = {kind: price for kind, price in prices.items() if price is not None}
    if options.against != "cost" or not given:
        return {}
    if missing := [f"--price-{kind}" for kind in prices if kind not in given]:
        raise DataError(f"--against cost: expected the prices of both kinds of tokens, missing: {', '.join(missing)}")
    return given


def _cost(
    against: str | None, prices: dict[str, float], cells: Sequence[CellResult]
) -> tuple[str, Callable[[CellResult], float]]:
    """Return the name of the cost per sample and the function that reads it, over all of a cell's samples in any
    subset.
    """
    known = (name for name in _BY_DEFAULT if any(COSTS[name].measure(cell) for cell in cells))
    listed = COSTS[against or next(known, _BY_DEFAULT[0])]
    if not prices:
        return listed.head, lambda cell: _nan_if_none(listed.measure(cell))

    def cost(cell: CellResult) -> float:
        paid = sum(
            price * _nan_if_none(count_tokens_per_sample(cell, kind)) / _PER_PRICE for kind, price in prices.items()
        )
        return float(paid * PER_COST)

    return listed.head, cost


def _nan_if_none(value: float | None) -> float:
    return float("nan") if value is None else value


def _columns(
    cells: Sequence[CellResult],
    metric: SubsetMetric,
    values: NDArray[np.float64],
    head: str,
    costs: NDArray[np.float64],
    axes: Sequence[str],
) -> list[TableColumn]:
    better = values if metric.direction() else -values
    digits = terminal.n_digits(values)
    return [
        TableColumn("cell", [cell.cell_id[:8] for cell in cells], is_number=False, is_id=True),
        *(
            TableColumn(axis, [escape(results.format_level(cell.axes.get(axis))) for cell in cells], is_number=False)
            for axis in axes
        ),
        TableColumn(head, [significant_digits(cost, _COST_DIGITS) for cost in costs.tolist()]),
        TableColumn(metric.metric, [terminal.number(value, digits) for value in values.tolist()]),
        TableColumn("front", _marks(cells, better, costs), is_number=False),
    ]


def _marks(cells: Sequence[CellResult], better: NDArray[np.float64], costs: NDArray[np.float64]) -> list[str]:
    """Return for each cell "on the front", or the best cell that dominates it."""
    marks = []
    for row in dominators(better, costs):
        beaten_by = np.flatnonzero(row)
        best = beaten_by[np.argmax(better[beaten_by])] if len(beaten_by) else None
        marks.append(_FRONT if best is None else f"dominated by {cells[best].cell_id[:8]}")
    return marks
