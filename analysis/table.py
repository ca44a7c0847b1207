"""python -m analysis table: a published table next to the matching cells of a sweep."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from analysis import published
from analysis import table_output as terminal
from analysis.formats import Document
from analysis.published import TABLES, PrintedBlock, PrintedComparison, PrintedLine, PrintedNumber, PrintedTable, Row
from analysis.table_output import STAR, UNKNOWN, Marks, TableColumn
from components.errors import DataError
from components.limits import expected_one_of
from runner import results
from runner.console.command_parser import SWEEP
from runner.results import CellResult

_PERCENT = "percent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("table", nargs="?", help="published table, e.g. crud_rag/3 (default: list the tables)")
    parser.add_argument("sweep", nargs="?", help=f"{SWEEP} (default: the table alone)")
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="METRIC",
        help=("metric of the table, e.g. bleu; repeat the option for several (default: all)"),
    )
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="also write the comparison to this file, one number per line"
    )
    terminal.add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the list of tables, one table, or a table with the results of a sweep, and write the requested file.
    Returns 0.

    Raises DataError for an unknown table, sweep or metric, and for options that are not a valid combination.
    """
    console = terminal.make_console(options.format)
    if not options.table:
        show_list(console)
        return 0
    table = published.read_table(options.table)
    metrics = _choose_metrics(table, options.metric)
    if options.csv and not options.sweep:
        raise DataError("--csv: got no sweep, expected SWEEP after the table")
    if not options.sweep:
        show_table(console, table, metrics)
        return 0
    if not table.info.is_sweep:
        raise DataError(
            f"{table.info.name} is not a sweep, so it has no cells to compare: {table.info.about}. "
            f"To see its numbers: python -m analysis table {table.info.name}"
        )
    comparison = published.compare_with_printed(table, metrics, results.load(options.sweep).cells)
    show_comparison(console, comparison)
    if options.csv:
        _write_csv(options.csv, comparison)
    return 0


def _choose_metrics(table: PrintedTable, requested: Sequence[str]) -> list[str]:
    """Return the printed names of the requested metrics, or of all metrics by default.

    Raises DataError for a metric that the table lacks.
    """
    if unknown := [name for name in requested if name not in table.metrics]:
        raise DataError(f"--metric: got {unknown[0]!r}{expected_one_of(unknown[0], table.metrics)}")
    return [name for name in table.metrics if name in requested or not requested]


def show_list(console: Console) -> None:
    """Print all tables and their papers."""
    columns = [
        TableColumn("table", list(TABLES), is_number=False),
        TableColumn("what its rows compare", [info.about for info in TABLES.values()], is_number=False),
    ]
    terminal.show_table(console, "Published tables", columns)
    for name, paper in {info.paper.name: info.paper for info in TABLES.values()}.items():
        console.print(f"[dim]{name}: {escape(str(paper))}[/]")


def show_table(console: Console, table: PrintedTable, metrics: Sequence[str]) -> None:
    """Print the table's numbers, with shares between 0 and 1."""
    percent = _in_percent(console)
    values = {(number.subset, number.row, number.metric): _value(number, percent) for number in table.numbers}
    rows = list(dict.fromkeys((number.subset, number.row) for number in table.numbers))
    columns = _row_columns(rows)
    for metric in metrics:
        cells = [values.get((*row, metric), UNKNOWN) for row in rows]
        unit = " (%)" if percent and _unit(table, metric) == _PERCENT else ""
        columns.append(TableColumn(metric + unit, cells, optional=metric != metrics[0]))
    terminal.show_table(console, escape(_head(table)), columns)
    _show_source(console, table)


def _value(number: PrintedNumber, percent: bool) -> str:
    if number.unit == "count":
        return f"{number.value:,.0f}"
    if percent and number.unit == _PERCENT:
        return f"{100 * number.value:.2f}"
    return terminal.number(number.value, terminal.n_digits([number.value]))


def _head(table: PrintedTable) -> str:
    return f"{table.info.name}: {table.info.about}"


def _in_percent(console: Console) -> bool:
    """Return True if numbers are written as the paper prints them, as in a table for another paper."""
    return isinstance(console, Document) and console.is_for_print


def _unit(table: PrintedTable, metric: str) -> str:
    return next(number.unit for number in table.numbers if number.metric == metric)


def _row_columns(rows: Sequence[tuple[str, Row]]) -> list[TableColumn]:
    """Return the columns that identify (subset, row). A subset is named once, where it begins."""
    names = [column for column, _ in rows[0][1]]
    levels = [TableColumn(name, [dict(row)[name] for _, row in rows], is_number=False) for name in names]
    subsets = [subset for subset, _ in rows]
    if len(set(subsets)) == 1:
        return levels
    before = ["", *subsets]
    labels = [subset if subset != previous else "" for subset, previous in zip(subsets, before, strict=False)]
    return [TableColumn("subset", labels, is_number=False), *levels]


def show_comparison(console: Console, comparison: PrintedComparison) -> None:
    """Print a block per metric, then facts to know before comparing the numbers."""
    if not _in_percent(console):  # captions for print contain the name
        console.print(f"[bold]{comparison.table.info.name}[/]: {escape(comparison.table.info.about)}")
    for block in comparison.blocks:
        if block.ours and any(line.pair for line in block.lines):
            console.print()
            scale = _Scale.for_block(block, percent=_in_percent(console))
            title = _title(comparison.table, block, scale, is_alone=_in_percent(console))
            terminal.show_table(console, title, _block_columns(comparison.table, block, scale), _marks(block))
    console.print()
    for line in (
        *published.missing_lines(comparison),
        *_differences(comparison),
        *_reductions(comparison),
        *_unmatched_cells(comparison),
    ):
        console.print(escape(line))
    for cell in comparison.failed:
        console.print(f"[red]{cell.status}[/], not compared: {cell.cell_id}: {escape(cell.reason)}")
    _show_source(console, comparison.table)


class _Scale(NamedTuple):
    """Factor and decimals of the numbers in a block."""

    factor: float
    digits: int

    @classmethod
    def for_block(cls, block: PrintedBlock, *, percent: bool) -> "_Scale":
        if percent and block.lines[0].number.unit == _PERCENT:
            return cls(100, 2)
        return cls(1, terminal.n_digits(line.number.value for line in block.lines if line.pair))

    def format(self, value: float | None, sign: str = "") -> str:
        return terminal.number(None if value is None else self.factor * value, self.digits, sign)


def _title(table: PrintedTable, block: PrintedBlock, scale: _Scale, *, is_alone: bool) -> str:
    """Return the title of a block. A caption that stands alone includes the table's name and the unit."""
    what = "the published definition" if block.is_published_definition else "[red]NOT the published definition[/]"
    unit = ", in percent" if scale.factor != 1 else ""
    return f"{f'{escape(_head(table))}; ' if is_alone else ''}{block.printed}{unit}: ours is {block.ours}, {what}"


def _block_columns(table: PrintedTable, block: PrintedBlock, scale: _Scale) -> list[TableColumn]:
    lines = [line for line in block.lines if line.pair]
    cells = [line.pair.cell for line in lines if line.pair]
    sizes = [table.n_samples(line.number) for line in lines]
    return [
        *_row_columns([(line.number.subset, line.number.row) for line in lines]),
        *(
            TableColumn(axis, [results.format_level(cell.axes.get(axis)) for cell in cells], is_number=False)
            for axis in _further_axes(lines)
        ),
        TableColumn("ours", [scale.format(line.value) for line in lines]),
        TableColumn(_interval_head(cells), [_interval(line, scale) for line in lines]),
        TableColumn("paper", [scale.format(line.number.value) for line in lines]),
        TableColumn("difference", [scale.format(line.difference, "+") for line in lines]),
        TableColumn("n", [UNKNOWN if line.n is None else f"{line.n:,}" for line in lines]),
        TableColumn("paper's n", [UNKNOWN if size is None else f"~{size:,}" for size in sizes], optional=True),
        TableColumn("cell", [_ids([cell]) for cell in cells], is_number=False, optional=True, is_id=True),
    ]


def _marks(block: PrintedBlock) -> Marks:
    row_marks = [STAR if _is_outside_interval(line) else "" for line in block.lines if line.pair]
    return Marks(row_marks, star="the paper's number is not in our interval")


def _is_outside_interval(line: PrintedLine) -> bool:
    return line.low is not None and line.high is not None and not line.low <= line.number.value <= line.high


def _further_axes(lines: Sequence[PrintedLine]) -> list[str]:
    """Return the axes that distinguish several cells of the same row."""
    cells: dict[Row, dict[str, CellResult]] = {}
    for line in lines:
        if line.pair:
            cells.setdefault(line.pair.row, {})[line.pair.cell.cell_id] = line.pair.cell
    return list(dict.fromkeys(axis for group in cells.values() for axis in results.shown_axes(list(group.values()))))


def _interval_head(cells: Sequence[CellResult]) -> str:
    confidences = {cell.config.get("metrics", {}).get("interval", {}).get("confidence") for cell in cells} - {None}
    return f"{100 * confidences.pop():g}% interval" if len(confidences) == 1 else "interval"


def _interval(line: PrintedLine, scale: _Scale) -> str:
    if line.low is None or line.high is None:
        return UNKNOWN
    return f"{scale.format(line.low)} {scale.format(line.high)}"


def _reductions(comparison: PrintedComparison) -> Iterator[str]:
    """Yield a line about cells that used only a part of the data."""
    axes = [match.cell.axes for match in comparison.paired.pairs]
    names = ("dataset.limit", "dataset.max_documents")
    used = dict.fromkeys(f"{name}={each[name]}" for each in axes for name in names if each.get(name) is not None)
    if used:
        yield f"Part of the data, unlike the paper: {', '.join(used)}"


def _differences(comparison: PrintedComparison) -> list[str]:
    """Return the settings that the table keeps fixed and in which cells differ; settings shared by all cells come
    first.
    """
    pairs = comparison.paired.pairs
    cells: dict[str, dict[str, CellResult]] = {}
    for pair in pairs:
        for difference in pair.differences:
            cells.setdefault(str(difference), {})[pair.cell.cell_id] = pair.cell
    n_cells = len({pair.cell.cell_id for pair in pairs})
    ordered = sorted(cells.items(), key=lambda item: -len(item[1]))
    lines = [f"  {'all cells' if len(group) == n_cells else _ids(group.values())}: {text}" for text, group in ordered]
    return ["Settings other than the paper's:", *lines] if lines else []


def _unmatched_cells(comparison: PrintedComparison) -> list[str]:
    """Return lines about cells without a row."""
    paired = comparison.paired
    cells = {
        "Cells without a row": paired.cells_without_row,
        "Cells that differ more from their row than the shown cell": paired.farther,
    }
    return [f"{what}: {_ids(group)}" for what, group in cells.items() if group]


def _ids(cells: Iterable[CellResult]) -> str:
    return ", ".join(cell.cell_id[:8] for cell in cells)


def _show_source(console: Console, table: PrintedTable) -> None:
    paper = table.info.paper
    sizes = [f"the paper's n is about: {paper.size}"] if table.info.is_sweep and paper.size else []
    for note in (*table.info.notes, *sizes):
        console.print(f"[dim]note: {escape(note)}[/]")
    console.print(f"[dim]source: table {table.info.number} of {escape(str(paper))}[/]")


def _write_csv(path: Path, comparison: PrintedComparison) -> None:
    records = [_record(comparison.table, block, line) for block in comparison.blocks for line in block.lines]
    terminal.write_csv(path, records)


def _record(table: PrintedTable, block: PrintedBlock, line: PrintedLine) -> dict[str, object]:
    """Return a line for CSV, with empty fields for missing values."""
    return {
        "table": table.info.name,
        "subset": line.number.subset,
        **dict(line.number.row),
        "metric": block.printed,
        "our_metric": block.ours,
        "is_published_definition": block.is_published_definition,
        "cell": line.pair.cell.cell_id if line.pair else "",
        "ours": line.value,
        "low": line.low,
        "high": line.high,
        "n": line.n,
        "published": line.number.value,
        "difference": line.difference,
        "published_n": table.n_samples(line.number),
        "differs_in": "; ".join(map(str, line.pair.differences)) if line.pair else "",
    }
