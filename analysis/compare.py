"""python -m analysis compare: the cells that differ from the best one or from a baseline, and by how much."""

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from analysis import compare_notes as notes
from analysis import comparison, comparison_records
from analysis import table_output as terminal
from analysis.comparison_family import (
    Family,
)
from analysis.formats import Document
from analysis.table_output import BOLD, STAR, Marks, TableColumn
from components.statistics import PairedTest
from runner import results
from runner.console.command_parser import CELL, METRIC, SWEEP
from runner.results import (
    are_draws,
    name_stopper,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", nargs="+", help=f"{SWEEP}; cells of several sweeps are compared together")
    parser.add_argument("--metric", default="", metavar="METRIC", help=METRIC)
    parser.add_argument(
        "--baseline",
        default="",
        metavar="CELL",
        help=(
            f"{CELL}; p-values then have Holm's correction. Here `best` is the cell with the best mean, not the cell "
            "to take (default: test all cells against the best mean)"
        ),
    )
    parser.add_argument(
        "--alpha",
        type=share,
        default=0.05,
        metavar="SHARE",
        help="significance level: probability of a false verdict (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to this file")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the table to this file")
    terminal.add_format(parser)


def share(text: str) -> float:
    """Return a number between 0 and 1. Raises ArgumentTypeError for other texts."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"got {text}, expected a number in (0, 1)")
    return value


def run(options: argparse.Namespace) -> int:
    """Print the comparison and write the requested files. Returns 0.

    Raises DataError if a sweep cannot be read, or if no two cells can be compared.
    """
    sweep = results.load_together(options.sweep)
    metric = sweep.metric(options.metric or sweep.headline_metric())
    test = PairedTest(confidence=1 - options.alpha)
    family = comparison.compare_cells(sweep, metric, test, baseline=options.baseline, alpha=options.alpha)
    show(terminal.make_console(options.format), family)
    if options.json:
        text = json.dumps(comparison_records.as_record(family), ensure_ascii=False, indent=1)
        terminal.write_text(options.json, text + "\n")
    if options.csv:
        rows = [*comparison_records.baseline_rows(family), *comparison_records.as_table(family)]
        terminal.write_csv(options.csv, rows)
    return 0


def show(console: Console, family: Family) -> None:
    """Print the table, its samples, the conclusion, and the cells that are not compared."""
    against = "the best cell" if family.baseline_is_best else "the baseline"
    direction = "larger" if family.metric.larger_is_better else "smaller"
    terminal.show_table(
        console, f"{family.metric} against {against} ({direction} is better)", _columns(family), _marks(family)
    )
    # Readers of a paper cannot look up ids of cells.
    is_for_print = isinstance(console, Document) and console.is_for_print
    same = [] if is_for_print else _same_lines(family)
    for line in (*same, *notes.sample_lines(family), *notes.trust_lines(family)):
        console.print(f"[dim]{escape(line)}[/]")
    for line in notes.summary_lines(family, is_for_print):
        console.print(escape(line))
    for cell in family.failed:
        console.print(f"[red]FAILED[/], not compared: {escape(notes.cell_name(family, cell))}: {escape(cell.reason)}")
    for line in notes.search_lines(family):
        console.print(escape(line))
    if stopped := family.sweep.stopped:
        names = ", ".join(escape(notes.cell_name(family, cell)) for cell in stopped)
        console.print(f"stopped by {name_stopper(stopped)}, not compared: {names}")
    for cell in family.bounds:
        name, bound = escape(notes.cell_name(family, cell)), terminal.number(family.metric.value(cell) or 0.0, 4)
        console.print(f"upper bound ({bound}), not compared: {name}. --baseline {cell.cell_id} compares with it")
    for cell in family.without_value:
        console.print(f"no value, not compared: {escape(notes.cell_name(family, cell))}")
    for cell in family.apart:
        console.print(f"no sample in common with the others, not compared: {escape(notes.cell_name(family, cell))}")
    if family.sweep.unfinished:
        console.print(f"no result yet, not compared: {', '.join(family.sweep.unfinished)}")


def _marks(family: Family) -> Marks:
    """Mark the best cell or the baseline bold, and significant differences with a star."""
    row_marks = [BOLD, *(STAR if row.is_decided else "" for row in family.rows)]
    if family.baseline_is_best:
        how = notes.correction_text(family)
        return Marks(
            row_marks, "the best on these samples", f"worse than the best at an alpha of {family.alpha:g}, {how}"
        )
    how = f"Holm over {family.n_corrected:,}"
    return Marks(row_marks, "the baseline", f"differs from the baseline at an alpha of {family.alpha:g}, {how}")


def _columns(family: Family) -> list[TableColumn]:
    rows, standings = family.rows, family.standings
    digits = terminal.n_digits(standing.mean for standing in standings)
    axes = {axis: [escape(standing.level(axis)) for standing in standings] for axis in family.axes()}
    differences = [terminal.number(row.comparison.difference, digits, "+") for row in rows]
    columns = [
        TableColumn("cell", [notes.short_name(standing) for standing in standings], is_number=False, is_id=True),
        *(TableColumn(axis, levels, is_number=False) for axis, levels in axes.items()),
        TableColumn("mean", [terminal.number(standing.mean, digits) for standing in standings]),
        TableColumn("difference", ["", *differences]),
        TableColumn(
            f"{100 * family.test.confidence:.4g}% interval",
            ["", *(terminal.interval(row.comparison.low, row.comparison.high, digits, "+") for row in rows)],
            optional=True,
        ),
        *_p_columns(family),
        TableColumn(
            "verdict",
            ["best" if family.baseline_is_best else "baseline", *(row.verdict for row in rows)],
            is_number=False,
        ),
    ]
    if family.left_out_differ:
        columns += [
            TableColumn(
                "own mean", [terminal.number(standing.own_mean, digits) for standing in standings], optional=True
            ),
            TableColumn("own n", [str(standing.n_own) for standing in standings], optional=True),
        ]
    return columns


def _p_columns(family: Family) -> list[TableColumn]:
    """Return the columns of p-values. Against the best cell, an unadjusted p-value would mislead, because the same
    samples picked that cell.
    """
    adjusted = ["", *(terminal.number(row.p_adjusted, 4) for row in family.rows)]
    if family.baseline_is_best:
        return [TableColumn("adj. p", adjusted)]
    alone = ["", *(terminal.number(row.comparison.p, 4) for row in family.rows)]
    return [TableColumn("p", alone, optional=True), TableColumn("Holm p", adjusted)]


def _same_lines(family: Family) -> list[str]:
    """Name the cells that share a row, such as several top_k under a ranking metric, in one line."""
    rows = [", ".join(cell.cell_id[:8] for cell in standing.cells) for standing in family.standings if standing.same]
    draws = ", or draws with their mean" if any(are_draws(standing.cells) for standing in family.standings) else ""
    return [f"+n: n more cells with the same value for every sample{draws}: {'; '.join(rows)}"] if rows else []
