"""What cells are called in the report: by what tells them apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runner.results import CellResult, change_name, common_base, shown, varying_axes

_ID_LENGTH = 8


@dataclass(frozen=True)
class CellNames:
    """Names of the cells of a sweep, by the axes in which they differ."""

    cells: tuple[CellResult, ...]

    @cached_property
    def axes(self) -> list[str]:
        """Those that tell the cells apart."""
        return varying_axes(self.cells)

    @cached_property
    def base(self) -> dict[str, Any] | None:
        """What cells that change one of many axes at a time start from; None for other sweeps."""
        return common_base([cell.axes for cell in self.cells], self.axes)

    @property
    def rule(self) -> str:
        """How to read a short name: "retriever \u00b7 top_k"."""
        return "what they change of the base" if self.base is not None else " \u00b7 ".join(self.axes)

    def short(self, cell: CellResult) -> str:
        """E.g. "hybrid \u00b7 256 \u00b7 2", or what it changes of the base; its id where nothing tells cells apart."""
        return self.of_several([cell])

    def in_prose(self, cell: CellResult) -> str:
        """Return the short name; a number by itself gets its axis, as in "top_k=5"."""
        name = self.short(cell)
        return f"{self.axes[0]}={name}" if len(self.axes) == 1 and name[:1].isdecimal() else name

    def of_several(self, cells: Sequence[CellResult]) -> str:
        """A name for cells with the same values, e.g. "bm25 \u00b7 64 \u00b7 2 or 8"."""
        if self.base is not None:
            return " or ".join(change_name(cell.axes, self.base) for cell in cells)
        return " \u00b7 ".join(self.levels(cells)) or cells[0].cell_id[:_ID_LENGTH]

    def levels(self, cells: Sequence[CellResult]) -> list[str]:
        """Of the axes that they use, the value of each or those of several cells."""
        levels = [dict.fromkeys(cell.axes.get(axis) for cell in cells) for axis in self.axes]
        return [" or ".join(map(shown, values)) for values in levels if list(values) != [None]]

    def by_axis(self, cells: Sequence[CellResult]) -> dict[str, str]:
        """For every axis the value, or those of several cells; a dash where they do not use it."""
        return {axis: " or ".join(dict.fromkeys(shown(cell.axes.get(axis)) for cell in cells)) for axis in self.axes}
