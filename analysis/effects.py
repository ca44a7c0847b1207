"""python -m analysis effects: which axes of the grid a metric depends on, and how much."""

import argparse
from collections.abc import Sequence

import numpy as np
from rich.markup import escape

from analysis import terminal
from analysis.statistics import VarianceShares, variance_shares
from analysis.terminal import Column
from components.errors import DataError
from runner import loaded
from runner.loaded import SubsetMetric
from runner.results import OK, CellResult

_ORDER = {True: "best", False: "best", None: "largest"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("sweep", help="a sweep's folder, or its id in results/")
    parser.add_argument("--metric", required=True, metavar="[SUBSET:]METRIC", help="e.g. read/qa_1doc:rouge_l")


def run(options: argparse.Namespace) -> int:
    """Prints axes and pairs of axes by the share of variance that they explain; returns 0. Raises DataError."""
    sweep = loaded.load(options.sweep)
    metric = loaded.find_metric(options.metric, sweep.cells)
    cells = [cell for cell in sweep.cells if cell.status == OK and metric.value(cell) is not None]
    values = np.array([metric.value(cell) for cell in cells], dtype=np.float64)
    shares = variance_shares(values, loaded.axis_levels(cells))
    if not cells:
        raise DataError(f"{sweep.folder}: no cell with a value of {metric}; did all of them fail?")
    if shares is None:
        raise DataError(
            f"{sweep.folder}: {metric} is the same in all {len(cells)} cell(s) that have it, so no axis acts"
        )
    console = terminal.make_console()
    title = f"{metric}: share of the variance between {len(cells)} cells"
    terminal.show_table(console, title, _columns(shares, cells, metric))
    for line in filter(None, [*_notes(shares), sweep.left_out(len(cells))]):
        console.print(f"[dim]{escape(line)}[/]")
    return 0


def _columns(shares: VarianceShares, cells: Sequence[CellResult], metric: SubsetMetric) -> list[Column]:
    terms = shares.terms
    names = [_name(term.axes) for term in terms]
    means = [escape(_level_means(term.axes[0], cells, metric)) if len(term.axes) == 1 else "" for term in terms]
    return [
        Column("axis", [*names, "higher interactions, rest"], is_number=False),
        Column("share", [*(f"{term.share:.1%}" for term in terms), f"{shares.residual:.1%}"]),
        Column("df", [*(str(term.df) for term in terms), ""]),
        Column(f"mean of its cells, {_ORDER[metric.larger_is_better]} first", [*means, ""], is_number=False),
    ]


def _level_means(axis: str, cells: Sequence[CellResult], metric: SubsetMetric) -> str:
    """E.g. "512: 0.2300, 64: 0.2000"."""
    by_level: dict[str, list[float]] = {}
    for cell in cells:
        value = metric.value(cell)
        if value is not None and cell.axes.get(axis) is not None:
            by_level.setdefault(loaded.shown(cell.axes[axis]), []).append(value)
    means = {level: sum(values) / len(values) for level, values in by_level.items()}
    digits = terminal.n_digits(means.values())
    ordered = sorted(means, key=lambda level: means[level], reverse=metric.larger_is_better is not False)
    return ", ".join(f"{level}: {terminal.number(means[level], digits)}" for level in ordered)


def _notes(shares: VarianceShares) -> list[str]:
    """Which axes and contrasts cannot be separated."""
    notes = [
        f"{axis} varies only along with {other}, which stands for both" for axis, other in shares.determined_by.items()
    ]
    if shares.aliased:
        names = ", ".join(map(_name, shares.aliased))
        notes.append(f"cannot be told apart from the other terms, so without a share of their own: {names}")
    partly = [
        f"{_name(term.axes)} ({term.n_aliased} of {term.df + term.n_aliased})"
        for term in shares.terms
        if term.n_aliased
    ]
    if partly:
        notes.append(f"contrasts that cannot be told apart from other terms: {', '.join(partly)}")
    return notes


def _name(axes: Sequence[str]) -> str:
    return " x ".join(axes)
