"""Section: our numbers next to numbers printed in papers, for sweeps over their data."""

from dataclasses import dataclass

from analysis import published
from analysis.published import TABLES, PrintedBlock, PrintedTable
from analysis.report.report_input import ReportSource
from components.errors import DataError
from runner.console.styled_text import count_decimals
from runner.results import OK

MAX_LINES = 60


@dataclass(frozen=True)
class PublishedLine:
    """A printed number and the number of a cell."""

    subset: str
    row: str
    cell: str
    ours: float
    low: float | None
    high: float | None
    n: int
    printed: float
    printed_n: int | None
    difference: float


@dataclass(frozen=True)
class PublishedBlock:
    """One metric of a table. `is_published_definition` is true if ours computes the same as the paper's code."""

    printed: str
    ours: str
    is_published_definition: bool
    digits: int
    lines: tuple[PublishedLine, ...]

    @property
    def shown(self) -> tuple[PublishedLine, ...]:
        """The lines that fit on the page."""
        return self.lines[:MAX_LINES]


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper with the cells that correspond to its rows, and the settings in which the cells differ from
    it.
    """

    name: str
    about: str
    source: str
    blocks: tuple[PublishedBlock, ...]
    differs_in: tuple[str, ...]
    notes: tuple[str, ...]


def gather(source: ReportSource) -> tuple[PublishedTable, ...]:
    """Return the tables of papers over the data of this sweep that have a row for any of its cells."""
    cells = [cell for cell in source.sweep.cells if cell.status == OK]
    names = {str(cell.dataset.get("name", "")) for cell in cells}
    tables = []
    for name, info in TABLES.items():
        if info.is_sweep and info.paper.name in names:
            table = published.read_table(name)
            try:
                comparison = published.compare_with_printed(table, table.metrics, cells)
            except DataError:  # no cell corresponds to any row, so the table is left out
                continue
            blocks = tuple(
                block for block in (_block(source, table, printed) for printed in comparison.blocks) if block.lines
            )
            if blocks:
                differences = {str(each): None for pair in comparison.paired.pairs for each in pair.differences}
                tables.append(
                    PublishedTable(name, info.about, str(info.paper), blocks, tuple(differences), tuple(info.notes))
                )
    return tuple(tables)


def _block(source: ReportSource, table: PrintedTable, block: PrintedBlock) -> PublishedBlock:
    lines = [
        PublishedLine(
            line.number.subset,
            ", ".join(f"{column} {level}" for column, level in line.number.row),
            source.names.short_name(line.pair.cell),
            line.value,
            line.low,
            line.high,
            line.n or 0,
            line.number.value,
            table.n_samples(line.number),
            line.value - line.number.value,
        )
        for line in block.lines
        if line.pair and line.value is not None
    ]
    digits = count_decimals(line.printed for line in lines)
    return PublishedBlock(block.printed, block.ours, block.is_published_definition, digits, tuple(lines))
