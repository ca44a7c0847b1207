"""Our numbers next to the printed ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.published.pairing import PrintedPair, TablePairing, get_level, is_of_another_paper, pair
from analysis.published.printed_numbers import PrintedNumber, PrintedTable
from components.errors import DataError
from runner.console.styled_text import join_names
from runner.results import OK, CellResult


@dataclass(frozen=True)
class PrintedLine:
    """A printed number and the number of a cell. `pair` is None for a row without a cell.

    `value`, its interval and `n`, its number of samples, are None if the cell has no value.
    """

    number: PrintedNumber
    pair: PrintedPair | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @property
    def difference(self) -> float | None:
        """Our value minus the printed one."""
        return None if self.value is None else self.value - self.number.value


@dataclass(frozen=True)
class PrintedBlock:
    """One metric of the table. `ours` is the metric of this project to compare it with, "" if no cell has one.

    `is_published_definition` is true if that metric computes the same as the paper's code.
    """

    printed: str
    ours: str
    is_published_definition: bool
    lines: tuple[PrintedLine, ...]


@dataclass(frozen=True)
class PrintedComparison:
    """A table and the cells of a sweep. Failed cells are left out."""

    table: PrintedTable
    blocks: tuple[PrintedBlock, ...]
    paired: TablePairing
    failed: tuple[CellResult, ...]


def compare_with_printed(table: PrintedTable, metrics: Sequence[str], cells: Sequence[CellResult]) -> PrintedComparison:
    """Return the printed `metrics` of the table with the numbers of the cells.

    Raises DataError if no cell has the levels of any row.
    """
    successful = [cell for cell in cells if cell.status == OK]
    if successful and all(is_of_another_paper(table, cell) for cell in successful):
        used = join_names(sorted({get_level(cell, "dataset") for cell in successful}))
        raise DataError(
            f"{table.info.name}: the cells were evaluated on {used}, so the numbers of the paper are not comparable. "
            f"Compare cells with dataset={table.info.name.partition('/')[0]}."
        )
    paired = pair(table, successful)
    if not paired.pairs:
        raise DataError(_nothing_fits(table, successful))
    blocks = tuple(_block(table, paired, printed, successful) for printed in metrics)
    return PrintedComparison(table, blocks, paired, tuple(cell for cell in cells if cell.status != OK))


def _nothing_fits(table: PrintedTable, cells: Sequence[CellResult]) -> str:
    rows = "; ".join(", ".join(f"{column}={level}" for column, level in row) for row in table.rows)
    axes = dict.fromkeys(axis for row in table.rows for level in table.own_levels(row) for axis in level.axes)
    levels = [", ".join(f"{axis}={get_level(cell, axis) or 'none'}" for axis in axes) for cell in cells]
    return (
        f"{table.info.name}: none of the {len(cells)} successful cells matches one of its rows.\n"
        f"  rows: {rows}\n"
        f"  cells: {'; '.join(dict.fromkeys(levels))}"
    )


def _block(table: PrintedTable, paired: TablePairing, printed: str, cells: Sequence[CellResult]) -> PrintedBlock:
    """Return a block with the metric of the paper's code if any cell has it, otherwise with our definition."""
    names = table.info.paper.metrics[printed]
    computed = {name for cell in cells for entries in cell.metrics.values() for name in entries}
    ours = next((name for name in names if name in computed), "")
    lines = [
        _line(number, printed_pair, ours)
        for number in table.numbers
        if number.metric == printed
        for printed_pair in _pairs_of_row(paired, number) or (None,)
    ]
    return PrintedBlock(printed, ours, ours == names.published, tuple(lines))


def _pairs_of_row(paired: TablePairing, number: PrintedNumber) -> tuple[PrintedPair | None, ...]:
    return tuple(printed_pair for printed_pair in paired.pairs if printed_pair.row == number.row)


def _line(number: PrintedNumber, printed_pair: PrintedPair | None, ours: str) -> PrintedLine:
    entry = printed_pair.cell.metrics.get(number.subset, {}).get(ours) if printed_pair else None
    if entry is None:
        return PrintedLine(number, printed_pair)
    return PrintedLine(number, printed_pair, entry["value"], entry["ci_low"], entry["ci_high"], entry["n"])
