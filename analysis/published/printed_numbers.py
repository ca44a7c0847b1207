"""Reader of the printed numbers."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from analysis.published.papers import TableInfo, find_table
from components.subsets import OVERALL

_FOLDER = Path(__file__).parent
_COLUMNS_OF_NUMBERS = ("subset", "metric", "unit", "value")

Row = tuple[tuple[str, str], ...]
"""The printed levels that distinguish a row of a table: (column, level), ..."""


@dataclass(frozen=True)
class PrintedNumber:
    """A printed number. `value` is in [0, 1] if it was printed in percent.

    `unit` is the printed unit: percent, fraction, characters or count. `metric` is the printed name. `subset` is our
    name, or "overall" for a table without subsets.
    """

    row: Row
    subset: str
    metric: str
    unit: str
    value: float


@dataclass(frozen=True)
class PrintedLevel:
    """Our counterpart of a level of a table's column.

    `axes` has the values of each axis, and any of them matches. It is empty for a level without a counterpart.
    """

    column: str
    printed: str
    axes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class PrintedTable:
    """Numbers of a table, in the order of the paper. `levels` maps (column, printed level) for `info.paper`."""

    info: TableInfo
    numbers: tuple[PrintedNumber, ...]
    levels: Mapping[tuple[str, str], PrintedLevel]

    @property
    def rows(self) -> list[Row]:
        """Return the distinct rows, regardless of subset."""
        return list(dict.fromkeys(number.row for number in self.numbers))

    @property
    def metrics(self) -> list[str]:
        """Return the printed names of the metrics."""
        return list(dict.fromkeys(number.metric for number in self.numbers))

    def own_levels(self, row: Row) -> list[PrintedLevel]:
        """Return the levels that distinguish the row from others."""
        return [self.levels[item] for item in row]

    def base_levels(self, row: Row) -> list[PrintedLevel]:
        """Return the levels that the paper keeps fixed besides the row's levels."""
        base = {**self.info.paper.base, **self.info.base}
        return [self.levels[item] for item in base.items() if item[0] not in dict(row)]

    def n_samples(self, number: PrintedNumber) -> int | None:
        """Return the approximate number of samples behind a number; None if the paper does not state it."""
        sizes = self.info.paper.n_samples
        return next((sizes[part] for part in (number.subset, *dict(number.row).values()) if part in sizes), None)


def read_table(name: str) -> PrintedTable:
    """Return a table by name, such as "crud_rag/3". Raises DataError for an unknown name."""
    info = find_table(name)
    with (_FOLDER / f"{info.paper.name}_{info.number}.csv").open(encoding="utf-8", newline="") as file:
        numbers = tuple(_number(record) for record in csv.DictReader(file))
    return PrintedTable(info, numbers, _levels(info.paper.name))


def _number(record: Mapping[str, str]) -> PrintedNumber:
    value = Decimal(record["value"]) / (100 if record["unit"] == "percent" else 1)
    row = tuple((column, level) for column, level in record.items() if column not in _COLUMNS_OF_NUMBERS)
    return PrintedNumber(row, record.get("subset", OVERALL), record["metric"], record["unit"], float(value))


def _levels(paper: str) -> dict[tuple[str, str], PrintedLevel]:
    axes: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    with (_FOLDER / "levels.csv").open(encoding="utf-8", newline="") as file:
        for record in csv.DictReader(file):
            if record["paper"] == paper:
                values_by_axis = axes.setdefault((record["column"], record["level"]), {})
                if record["axis"]:
                    values_by_axis[record["axis"]] = tuple(record["values"].split())
    return {key: PrintedLevel(*key, values_by_axis) for key, values_by_axis in axes.items()}
