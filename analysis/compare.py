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
    ComparisonRow,
    Family,
)
from analysis.formats import Document
from analysis.table_output import BOLD, STAR, UNKNOWN, Marks, TableColumn
from components.statistics import PairedTest
from runner import results
from runner.console.command_parser import CELL, METRIC, SWEEP
from runner.console.excluded_samples import excluded_texts
from runner.console.styled_text import listed
from runner.results import (
    stopped_by,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", nargs="+", help=f"{SWEEP}; cells of several sweeps are compared together")
    parser.add_argument("--metric", default="", metavar="METRIC", help=METRIC)
    parser.add_argument("--baseline", default="", metavar="CELL", help=f"{CELL} (default: the best mean)")
    parser.add_argument(
        "--alpha", type=share, default=0.05, help="probability of a false verdict (default: %(default)s)"
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
        raise argparse.ArgumentTypeError(f"got {text}, expected a number between 0 and 1")
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
        terminal.write_csv(options.csv, comparison_records.as_table(family))
    return 0


def show(console: Console, family: Family) -> None:
    """Print the table, its samples, the conclusion, and the cells that are not compared."""
    against = "the best cell" if family.is_picked else "the baseline"
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
        console.print(f"stopped by {stopped_by(stopped)}, not compared: {names}")
    for cell in family.without_value:
        console.print(f"no value, not compared: {escape(notes.cell_name(family, cell))}")
    for cell in family.apart:
        console.print(f"no sample in common with the others, not compared: {escape(notes.cell_name(family, cell))}")
    if family.sweep.unfinished:
        console.print(f"no result yet, not compared: {', '.join(family.sweep.unfinished)}")


def _marks(family: Family) -> Marks:
    """Mark the best cell or the baseline bold, and significant differences with a star."""
    of_rows = [BOLD, *(STAR if row.is_decided else "" for row in family.rows)]
    if family.is_picked:
        how = notes.correction_text(family)
        return Marks(
            of_rows, "the best on these samples", f"worse than the best at an alpha of {family.alpha:g}, {how}"
        )
    how = f"Holm over {family.n_corrected:,}"
    return Marks(of_rows, "the baseline", f"differs from the baseline at an alpha of {family.alpha:g}, {how}")


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
            ["", *(_interval(row, digits) for row in rows)],
            optional=True,
        ),
        *_p_columns(family),
        TableColumn(
            "verdict", ["best" if family.is_picked else "baseline", *(row.verdict for row in rows)], is_number=False
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
    if family.is_picked:
        return [TableColumn("adj. p", adjusted)]
    alone = ["", *(terminal.number(row.comparison.p, 4) for row in family.rows)]
    return [TableColumn("p", alone, optional=True), TableColumn("Holm p", adjusted)]


def _interval(row: ComparisonRow, digits: int) -> str:
    low, high = row.comparison.low, row.comparison.high
    return f"{terminal.number(low, digits, '+')} {terminal.number(high, digits, '+')}" if low is not None else UNKNOWN


def _same_lines(family: Family) -> list[str]:
    """Name the cells that share a row, such as several top_k under a ranking metric, in one line."""
    rows = [", ".join(cell.cell_id[:8] for cell in standing.cells) for standing in family.standings if standing.same]
    return [f"+n: n more cells with the same value for every sample: {'; '.join(rows)}"] if rows else []


def _sample_lines(family: Family) -> list[str]:
    """Describe the compared samples, and the left-out ones with the reasons. Cells with equal reasons share a line."""
    of = f" of {family.n_known}" if family.n < family.n_known else ""
    worth = effective_groups_note(family.n_clusters, family.n_effective)
    groups = "1 group" if family.n_clusters == 1 else f"{family.n_clusters} independent groups{worth}"
    lines = [f"over {family.n}{of} samples in {groups}"]
    assumed = list(filter(None, [groups_note(family.sweep.cells)]))
    cells: dict[str, list[str]] = {}
    for standing in family.standings:
        if why := ", ".join(excluded_texts(dict(sorted(standing.left_out.items())))):
            cells.setdefault(why, []).append(standing.cell.cell_id[:8])
    if list(map(len, cells.values())) == [len(family.standings)] and not family.left_out_differ:
        return [f"{lines[0]}; left out: {next(iter(cells))}", *assumed]
    return lines + assumed + [f"left out because of {', '.join(ids)}: {why}" for why, ids in cells.items()]


def _trust_lines(family: Family) -> list[str]:
    """Warn where the results are less reliable than they look."""
    if not family.rows:
        return []
    if family.n_clusters == 1:
        return []
    worth = effective_groups_note(family.n_clusters, family.n_effective)
    is_known = family.n_effective >= _FEW_CLUSTERS
    few = "" if is_known else f" ({family.n_clusters} groups{worth}: too few for asymptotic theory)"
    lines = [
        f"rate of false verdicts at an alpha of 0.05, in our simulations: about 0.06{few}; up to {_MAX_FALSE_RATE} for "
        "a cell with rare, severe failures that the samples miss"
    ]
    if any(_excludes_zero(row) and not row.is_decided for row in family.rows):
        p = "adj. p" if family.is_picked else "Holm p"
        lines.append(
            f"{p} is corrected for all comparisons, intervals are not: a verdict can be "
            f"'{MAY_BE_BEST if family.is_picked else UNDECIDED}' although the interval excludes 0"
        )
    if family.rows[0].comparison.standard_error is None:
        lines.append(
            "all samples of a subset belong to one group, so their spread is unknown: there is no interval and "
            "no detectable difference, and p-values come from sign changes only"
        )
    return lines


def _over_own_samples(family: Family) -> str:
    """Describe the order of the cells by the mean over each cell's samples."""
    if not family.left_out_differ:
        return ""
    own_order, common_order = (
        [standing.cell.cell_id[:8] for standing in order] for order in (family.by_own_means(), family.by_means())
    )
    reading = "the order is the same" if own_order == common_order else f"the order is {', '.join(own_order)}"
    return f"Cells leave out different samples; over each cell's own {reading}."


def _conclusion(family: Family, is_for_print: bool) -> str:
    """Name the cells that may be the best, or count the cells that are better and worse than the baseline."""
    if not family.rows:
        return f"All {len(family.baseline.cells)} cells have the same value for every sample."
    return _may_be_best(family, is_for_print) if family.is_picked else _against_baseline(family)


def _unit(family: Family) -> str:
    return "rows" if any(standing.same for standing in family.standings) else "cells"


def _correction_text(family: Family) -> str:
    return f"corrected for any two of {len(family.standings)} {_unit(family)}"


def _may_be_best(family: Family, is_for_print: bool) -> str:
    """Describe the model confidence set: the best cell on these samples, and the cells that the test could not rule
    out. No cell is recommended if cells were tested under different conditions.
    """
    if spans_conditions([cell for standing in family.standings for cell in standing.cells]):
        return COMPARE_ALIKE
    n_cells, rows, how = len(family.standings), _unit(family), _correction_text(family)
    confidence = f"With {100 * (1 - family.alpha):.4g}% confidence"
    name, others = _row_name(family, family.baseline), [row.standing for row in family.not_distinguishable]
    if is_for_print:
        which = f"one of the {len(others) + 1} rows without *" if others else "in the first row"
        return f"{confidence} the best cell is {which} ({how})."
    if not others:
        return f"{confidence} the best cell is {name} ({how})."
    ids = ", ".join(standing.cell.cell_id[:8] for standing in others)
    return f"{confidence} the best cell is one of these: {name}, {ids} ({len(others) + 1} of {n_cells} {rows}; {how})."


def _against_baseline(family: Family) -> str:
    n_tested = family.n_corrected
    counts = Counter(row.verdict for row in family.rows)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in (BETTER, WORSE, UNDECIDED))
    comparisons = f"{n_tested:,} comparison{'s' if n_tested != 1 else ''}"
    name = _row_name(family, family.baseline)
    return f"Against {name}: {verdicts} (alpha {family.alpha:g}, Holm over {comparisons})."


def _detectable(family: Family) -> str:
    """Describe the smallest detectable difference. It varies between cells with the spread of their differences from
    the baseline.
    """
    ends = detectable_ends(family)
    if not ends:
        few = too_few_groups(family.n_clusters, family.n_effective)
        fewer = ", or compare fewer cells" if family.n_corrected > 1 else ""
        remedy = f"Add questions about documents that have none yet{fewer} (docs/decisions.md)."
        return f"{few.capitalize()}. {remedy}" if family.has_too_few_groups else ""
    span = ends[0] if len(ends) == 1 else f"{listed(ends, 'to')}, depending on the cell"
    questions = "1 question" if family.n == 1 else f"{family.n} questions"
    return f"With {questions}, the smallest detectable difference is about {span} ({POWER:.0%} power, measured spread)."


def _n_needed(family: Family) -> str:
    """Describe how many questions would distinguish the rows without a significant difference."""
    span = needed_span(family)
    if not span:
        return ""
    against = "the best cell" if family.is_picked else "the baseline"
    undecided = "them" if len(family.not_distinguishable) > 1 else "it"
    return f"At the observed differences, separating {undecided} from {against} would take {span} questions."


def _row_name(family: Family, standing: Standing) -> str:
    """Return the name of a row: that of its cell, with all values of its axes ("parser=office or combined")."""
    if not standing.same:
        return _name(family, standing.cell)
    used = [axis for axis in family.axes() if any(cell.axes.get(axis) is not None for cell in standing.cells)]
    levels = ", ".join(f"{axis}={standing.level(axis).replace(', ', ' or ')}" for axis in used)
    return f"{_short(standing)} ({levels})"


def _name(family: Family, cell: CellResult) -> str:
    """Return a cell's short id and the axis values that distinguish it."""
    axes = results.describe(cell, family.axes())
    return f"{cell.cell_id[:8]} ({axes})" if axes else cell.cell_id[:8]
