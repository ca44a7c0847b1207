"""python -m analysis pareto: which cells no other cell beats in both quality and cost."""

import argparse
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from analysis import terminal
from analysis.terminal import Column
from components.errors import DataError
from components.statistics import dominators
from runner import loaded
from runner.common_samples import common_means
from runner.display import about
from runner.loaded import SubsetMetric
from runner.results import OK, CellResult

_SECONDS: Mapping[str, tuple[str, Callable[[CellResult], float | None]]] = {
    "seconds": ("median seconds per question", lambda cell: cell.latency_s.get("p50")),
    "seconds_p95": ("seconds per question, 95th percentile", lambda cell: cell.latency_s.get("p95")),
    "one_time_seconds": ("seconds once per corpus", lambda cell: cell.one_time_s),
}
"""Time as a pipeline in production would spend it: what loads and measures a benchmark is in none of them."""

CONTEXT_TOKENS = "context_tokens"
"""The metric, as a cost: what the passages take in a prompt, by our own tokenizer."""

_PER_PRICE = 1_000_000
_PER_COST = 1_000
_COST_DIGITS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("sweep", help="a sweep's folder, or its id in results/")
    parser.add_argument("--metric", required=True, metavar="[SUBSET:]METRIC", help="e.g. read/qa_1doc:rouge_l")
    parser.add_argument(
        "--against",
        choices=("tokens", CONTEXT_TOKENS, *_SECONDS, "cost"),
        default="tokens",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--price-prompt",
        type=_price,
        metavar="PRICE",
        help="of a million prompt tokens, for another than the listed one",
    )
    parser.add_argument("--price-completion", type=_price, metavar="PRICE", help="of a million completion tokens")


def _price(text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = float("nan")
    if not 0 <= price < float("inf"):
        raise argparse.ArgumentTypeError(f"got {text}, wanted a number, 0 or more")
    return price


def run(options: argparse.Namespace) -> int:
    """Prints the cells from cheapest to dearest, with the front marked; returns 0. Raises DataError."""
    head, cost_of = _cost(options)
    sweep = loaded.load(options.sweep)
    metric = loaded.find_metric(options.metric, sweep.cells)
    valued = [cell for cell in sweep.cells if cell.status == OK and metric.value(cell) is not None]
    costed = [cell for cell in valued if not np.isnan(cost_of(cell))]
    common = common_means(costed, sweep.folder_of, metric.metric, metric.subset)
    # Without a sample in common with the others, a cell's own mean says nothing against theirs.
    apart = [cell for cell in costed if common.by_cell and cell.cell_id not in common.by_cell]
    cells = [cell for cell in costed if cell not in apart]
    costs = np.array([cost_of(cell) for cell in cells], dtype=np.float64)
    if not valued:
        raise DataError(f"{sweep.folder}: no cell with a value of {metric}; did all of them fail?")
    if not costs.any():
        raise DataError(
            f"{sweep.folder}: {head} are 0 or not known in all {len(valued)} cell(s) with a value; "
            "try --against seconds"
        )
    order = np.argsort(costs, kind="stable")
    console = terminal.make_console()
    values = np.array([common.of(cell, metric.metric, metric.subset) for cell in cells], dtype=np.float64)
    axes = loaded.varying_axes(sweep.cells)
    columns = _columns([cells[i] for i in order], metric, values[order], head, costs[order], axes)
    terminal.show_table(console, f"{metric} against {head}", columns)
    console.print("[dim]the front compares means only: `compare` tests whether two cells differ[/]")
    if common.by_cell:
        console.print(f"[dim]means over the {common.n} of {common.n_known} samples that every cell has[/]")
    for cell in apart:
        console.print(f"no sample in common with the others, not compared: {cell.cell_id[:8]}")
    for cell in valued:
        if cell not in costed:
            console.print(f"not compared, as its {head} are not known: {cell.cell_id[:8]}")
    if line := sweep.left_out(len(valued)):
        console.print(f"[dim]{line}[/]")
    return 0


def _cost(options: argparse.Namespace) -> tuple[str, Callable[[CellResult], float]]:
    """The cost per sample, over all of a cell's samples whatever the subset: its name, and how to read it."""
    if options.against in _SECONDS:
        head, seconds_of = _SECONDS[options.against]
        return head, lambda cell: _or_nan(seconds_of(cell))
    if options.against == CONTEXT_TOKENS:  # known without a language model, and the same for all of them
        return "tokens of passages per prompt", lambda cell: _or_nan(cell.value(CONTEXT_TOKENS))
    if options.against == "tokens":
        return (
            "tokens per sample",
            lambda cell: (_tokens(cell, "prompt") + _tokens(cell, "completion")) / _n_samples(cell),
        )
    prices = {"prompt": options.price_prompt, "completion": options.price_completion}
    if set(prices.values()) == {None}:
        return "cost per 1,000 samples", lambda cell: _listed_cost(cell) / _n_samples(cell) * _PER_COST
    if missing := [f"--price-{kind}" for kind, price in prices.items() if price is None]:
        raise DataError(f"--against cost: wanted the prices of both kinds of tokens, missing: {', '.join(missing)}")

    def cost(cell: CellResult) -> float:
        paid = sum(price * _tokens(cell, kind) / _PER_PRICE for kind, price in prices.items())
        return float(paid / _n_samples(cell) * _PER_COST)

    return "cost per 1,000 samples", cost


def _listed_cost(cell: CellResult) -> float:
    """By the price lists of the sweep; of all but the judges, which are not part of the pipeline."""
    costs = [usage["cost"] for part, usage in cell.usage.items() if not part.startswith("judge/")]
    return float("nan") if None in costs else float(sum(costs))


def _tokens(cell: CellResult, kind: str) -> float:
    """Tokens of the answers, and of a reranker that asks a language model; a judge is not part of the pipeline's cost.
    NaN if they are not known.
    """
    return _or_nan(cell.tokens.get(kind)) + _or_nan(cell.tokens.get(f"reranker_{kind}", 0))


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _n_samples(cell: CellResult) -> int:
    return max(sum(cell.counts.values()), 1)


def _columns(
    cells: Sequence[CellResult],
    metric: SubsetMetric,
    values: NDArray[np.float64],
    head: str,
    costs: NDArray[np.float64],
    axes: Sequence[str],
) -> list[Column]:
    better = values if metric.direction() else -values
    digits = terminal.n_digits(values)
    return [
        Column("cell", [cell.cell_id[:8] for cell in cells], is_number=False),
        *(
            Column(axis, [escape(loaded.shown(cell.axes.get(axis))) for cell in cells], is_number=False)
            for axis in axes
        ),
        Column(head, [about(cost, _COST_DIGITS) for cost in costs.tolist()]),
        Column(metric.metric, [terminal.number(value, digits) for value in values.tolist()]),
        Column("front", _marks(cells, better, costs), is_number=False),
    ]


def _marks(cells: Sequence[CellResult], better: NDArray[np.float64], costs: NDArray[np.float64]) -> list[str]:
    """Whether a cell is on the front; if not, the best of the cells that are no worse and no dearer."""
    marks = []
    for row in dominators(better, costs):
        beaten_by = np.flatnonzero(row)
        best = beaten_by[np.argmax(better[beaten_by])] if len(beaten_by) else None
        marks.append("[bold]front[/]" if best is None else f"beaten by {cells[best].cell_id[:8]}")
    return marks
