"""python -m analysis compare: which cells differ from the best one, or from a baseline, and by how much."""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from analysis import comparison, terminal
from analysis.comparison import BETTER, UNDECIDED, WORSE, Family, Row
from analysis.statistics import Method, PairedTest
from analysis.terminal import UNKNOWN, Column
from runner import loaded
from runner.results import CellResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("sweep", help="a sweep's folder, or its id in results/")
    parser.add_argument("--metric", required=True, metavar="[SUBSET:]METRIC", help="e.g. read/qa_1doc:rouge_l")
    parser.add_argument(
        "--baseline", default="", metavar="CELL", help="a cell's id or axis values, e.g. retriever=bm25 (default: best)"
    )
    parser.add_argument("--alpha", type=_share, default=0.05, help="chance of a false call (default: %(default)s)")
    parser.add_argument(
        "--method", type=Method, choices=tuple(Method), default=Method.PERMUTATION, help="of p-values with --baseline"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything there")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the table there")


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"got {text}, wanted a number between 0 and 1")
    return value


def run(options: argparse.Namespace) -> int:
    """Prints the comparison and writes the files that were asked for; returns 0. Raises DataError."""
    sweep = loaded.load(options.sweep)
    metric = loaded.find_metric(options.metric, sweep.cells)
    test = PairedTest(options.method, confidence=1 - options.alpha)
    family = comparison.compare_cells(sweep, metric, test, baseline=options.baseline, alpha=options.alpha)
    show(terminal.make_console(), family)
    if options.json:
        text = json.dumps(comparison.as_record(family), ensure_ascii=False, indent=1)
        terminal.write_text(options.json, text + "\n")
    if options.csv:
        terminal.write_csv(options.csv, comparison.as_table(family))
    return 0


def show(console: Console, family: Family) -> None:
    """The table, what it is over, what it says, and the cells that are not in it."""
    against = "the best cell" if family.is_picked else "the baseline"
    direction = "larger" if family.metric.larger_is_better else "smaller"
    terminal.show_table(console, f"{family.metric} against {against} ({direction} is better)", _columns(family))
    for line in _sample_lines(family.rows):
        console.print(f"[dim]{escape(line)}[/]")
    console.print(escape(_conclusion(family)))
    if line := _detectable(family):
        console.print(line)
    for cell in family.failed:
        console.print(f"[red]FAILED[/], not compared: {escape(_name(family, cell))}: {escape(cell.reason)}")
    for cell in family.without_value:
        console.print(f"no value, not compared: {escape(_name(family, cell))}")
    if family.sweep.unfinished:
        console.print(f"no result yet, not compared: {', '.join(family.sweep.unfinished)}")


def _columns(family: Family) -> list[Column]:
    rows, metric = family.rows, family.metric
    cells = [family.baseline, *(row.cell for row in rows)]
    digits = terminal.n_digits(value for cell in cells if (value := metric.value(cell)) is not None)
    axes = {axis: [escape(loaded.shown(cell.axes.get(axis))) for cell in cells] for axis in family.axes()}
    differences = [terminal.number(row.comparison.difference, digits, "+") for row in rows]
    columns = [
        Column("cell", [cell.cell_id[:8] for cell in cells], is_number=False),
        *(Column(axis, levels, is_number=False) for axis, levels in axes.items()),
        Column("mean", [terminal.number(metric.value(cell), digits) for cell in cells]),
        Column("difference", ["", *differences]),
        Column(
            f"{100 * family.test.confidence:.4g}% interval",
            ["", *(_interval(row, digits) for row in rows)],
            optional=True,
        ),
        *_p_columns(family),
        Column(
            "verdict", ["best" if family.is_picked else "baseline", *(row.verdict for row in rows)], is_number=False
        ),
    ]
    if len({_size(row) for row in rows}) > 1:
        columns.append(Column("n", ["", *(str(row.comparison.n) for row in rows)]))
    return columns


def _p_columns(family: Family) -> list[Column]:
    """With the best cell as baseline, a single comparison's p-value would mislead: many cells competed to be best."""
    adjusted = ["", *(terminal.number(row.p_adjusted, 4) for row in family.rows)]
    if family.is_picked:
        return [Column("adj. p", adjusted)]
    alone = ["", *(terminal.number(row.comparison.p, 4) for row in family.rows)]
    return [Column("p", alone, optional=True), Column("Holm p", adjusted)]


def _interval(row: Row, digits: int) -> str:
    low, high = row.comparison.low, row.comparison.high
    return f"{terminal.number(low, digits, '+')} {terminal.number(high, digits, '+')}" if low is not None else UNKNOWN


def _size(row: Row) -> tuple[int, int]:
    return row.comparison.n, row.comparison.n_clusters


def _sample_lines(rows: Sequence[Row]) -> list[str]:
    """How many samples the comparisons are over, what was left out and why; cells with equal numbers share a line."""
    cells: dict[str, list[str]] = {}
    for row in rows:
        n, n_clusters = _size(row)
        why = comparison.why_left_out(row.left_out)
        text = f"over {n} samples in {n_clusters} groups by source document" + (f"; left out: {why}" if why else "")
        cells.setdefault(text, []).append(row.cell.cell_id[:8])
    if len(cells) == 1:
        return list(cells)
    return [f"{', '.join(ids)}: {text}" for text, ids in cells.items()]


def _conclusion(family: Family) -> str:
    """The cells that may be the best, or how many are better and worse than the baseline."""
    return _may_be_best(family) if family.is_picked else _against_baseline(family)


def _may_be_best(family: Family) -> str:
    """The model confidence set: the best cell on these samples, and those that the test could not rule out."""
    n_tested = _n_tested(family)
    how = f"corrected for any two of {n_tested + 1} cells"
    confidence = f"With {100 * (1 - family.alpha):.4g} % confidence"
    name, undecided = _name(family, family.baseline), [row.cell for row in family.not_distinguishable]
    if not undecided:
        return f"{confidence} the best cell is {name} ({how})."
    ids = ", ".join(cell.cell_id[:8] for cell in undecided)
    return f"{confidence} the best cell is one of these: {name}, {ids} ({len(undecided) + 1} of {n_tested + 1}; {how})."


def _against_baseline(family: Family) -> str:
    n_tested = _n_tested(family)
    found = Counter(row.verdict for row in family.rows)
    verdicts = ", ".join(f"{found[verdict]} {verdict}" for verdict in (BETTER, WORSE, UNDECIDED))
    comparisons = f"{n_tested} comparison{'s' if n_tested != 1 else ''}"
    return f"Against {_name(family, family.baseline)}: {verdicts} (alpha {family.alpha:g}, Holm over {comparisons})."


def _n_tested(family: Family) -> int:
    return sum(row.p_adjusted is not None for row in family.rows)


def _detectable(family: Family) -> str:
    """What this many questions can show. It differs between cells, because some differ from the baseline by much the
    same amount on every question and others do not.
    """
    rows = [row for row in family.rows if row.detectable is not None]
    if not rows:
        vary = any(row.comparison.standard_error for row in family.rows)
        return "There are too few groups of samples for a difference of any size to show up." if vary else ""
    sizes = [row.detectable for row in rows if row.detectable is not None]
    low, high = (f"{size:.2g}" for size in (min(sizes), max(sizes)))
    span = low if low == high else f"{low} to {high}, depending on the cell,"
    n = max(row.comparison.n for row in rows)
    questions = "1 question" if n == 1 else f"{n} questions"
    return f"With {questions}, only differences above about {span} show up reliably ({comparison.POWER:.0%} power)."


def _name(family: Family, cell: CellResult) -> str:
    """A cell's short id and what tells it from the others."""
    axes = loaded.describe(cell, family.axes())
    return f"{cell.cell_id[:8]} ({axes})" if axes else cell.cell_id[:8]
