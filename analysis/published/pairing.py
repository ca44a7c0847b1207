"""Assignment of a sweep's cells to the rows of a published table."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.published.papers import TABLES
from analysis.published.printed_numbers import PrintedLevel, PrintedTable, Row
from runner.results import CellResult, config_value


@dataclass(frozen=True)
class Difference:
    """A setting that the table keeps fixed and in which a cell differs."""

    axis: str
    ours: str
    published: str

    def __str__(self) -> str:
        return f"{self.axis}={self.ours} (published: {self.published})"


@dataclass(frozen=True)
class PrintedPair:
    """A cell with a row's levels, and the other settings in which it differs from the row."""

    row: Row
    cell: CellResult
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class TablePairing:
    """The pairs, in the order of the rows. A row has several cells if these are equally close to it.

    `farther` cells have a row's levels, but another cell is closer to that row. Each cell is in one of `pairs`,
    `farther` and `cells_without_row`; each row is in one of `pairs` and `rows_without_cell`.
    """

    pairs: tuple[PrintedPair, ...]
    rows_without_cell: tuple[Row, ...]
    cells_without_row: tuple[CellResult, ...]
    farther: tuple[CellResult, ...]


def pair(table: PrintedTable, cells: Sequence[CellResult]) -> TablePairing:
    """Assign cells to the rows of the table.

    A cell fits a row if it has all levels of the row. The row gets the fitting cells that share most of the table's
    fixed settings. A setting that a cell does not use (the embedder under bm25) does not count as shared, and
    is not reported as a difference.
    """
    pairs: list[PrintedPair] = []
    empty: list[Row] = []
    fitted: set[str] = set()
    for row in table.rows:
        fitting = [(_base_misses(table, row, cell), cell) for cell in cells if has_levels(table, row, cell)]
        fitted.update(cell.cell_id for _, cell in fitting)
        least = min((len(level_differences) for level_differences, _ in fitting), default=0)
        nearest = [(level_differences, cell) for level_differences, cell in fitting if len(level_differences) == least]
        pairs += [
            PrintedPair(row, cell, tuple(miss for miss in level_differences if miss.ours))
            for level_differences, cell in nearest
        ]
        empty += [] if fitting else [row]
    taken = {match.cell.cell_id for match in pairs}
    return TablePairing(
        tuple(pairs),
        tuple(empty),
        tuple(cell for cell in cells if cell.cell_id not in fitted),
        tuple(cell for cell in cells if cell.cell_id in fitted - taken),
    )


def has_levels(table: PrintedTable, row: Row, cell: CellResult) -> bool:
    """Return True if the cell has all levels of the row and was not evaluated on the data of another paper."""
    return not is_of_another_paper(table, cell) and not any(
        level_differences(level, cell) for level in table.own_levels(row)
    )


def is_of_another_paper(table: PrintedTable, cell: CellResult) -> bool:
    """Return True if the cell was evaluated on the data set of another paper with tables."""
    _, *others = dict.fromkeys(name.partition("/")[0] for name in (table.info.name, *TABLES))
    return get_level(cell, "dataset") in others


def _base_misses(table: PrintedTable, row: Row, cell: CellResult) -> list[Difference]:
    return [miss for level in table.base_levels(row) for miss in level_differences(level, cell)]


def get_level(cell: CellResult, axis: str) -> str:
    """Return a cell's level on an axis: its model if it names one, else the option or value; "" for an unused axis."""
    names = _names(cell, axis)
    return str(names[-1]) if names else ""


def level_differences(level: PrintedLevel, cell: CellResult) -> list[Difference]:
    """Return the axes of the level on which the cell has another value."""
    return [
        Difference(axis, get_level(cell, axis), level.printed)
        for axis, accepted in level.axes.items()
        if {_normal(name) for name in _names(cell, axis)}.isdisjoint(_normal(value) for value in accepted)
    ]


def _names(cell: CellResult, axis: str) -> list[object]:
    """Return the option or value, and the model's name if the option has one; [] for an unused axis."""
    value = cell.axes[axis] if axis in cell.axes else config_value(cell.config, axis)
    if value is None:
        return []
    model = config_value(cell.config, f"{axis}.model")
    return [value] if model is None else [value, model]


def _normal(value: object) -> str:
    """Return a form for comparison: numbers by value, names or folders by their last part, without case and
    underscores.
    """
    text = str(value)
    try:
        return f"{float(text):g}"
    except ValueError:
        return text.rstrip("/").rpartition("/")[2].lower().replace("_", "-")
