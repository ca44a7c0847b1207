"""Names of cells in the report, from the values that distinguish them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from runner.results import CellResult, change_name, common_base, format_level, join_levels, shown_axes

_ID_LENGTH = 8
_MAX_NAMES = 3
"""Names of equal cells that are listed, if their values do not form a grid."""


@dataclass(frozen=True)
class CellNames:
    """Names of the cells of a sweep, by the axes in which they differ."""

    cells: tuple[CellResult, ...]

    @cached_property
    def axes(self) -> list[str]:
        """The axes that distinguish the cells."""
        return shown_axes(self.cells)

    @cached_property
    def base(self) -> dict[str, object] | None:
        """The base from which each cell changes one of many axes; None for other sweeps."""
        return common_base([cell.axes for cell in self.cells], self.axes)

    @property
    def base_text(self) -> str:
        """Return the base, such as "retriever=bm25, top_k=5", or "" if the cells have no base."""
        return ", ".join(f"{axis}={value}" for axis, value in (self.base or {}).items())

    @property
    def compared_at(self) -> str:
        """Describe the settings of the other axes at which the values of an axis are compared."""
        if self.base is not None:
            return f"with the other axes at the base ({self.base_text})"
        return "averaged over all settings of the other axes"

    @property
    def rule(self) -> str:
        r"""The rule of a short name: "retriever \u00b7 top_k"."""
        return "changes from the base" if self.base is not None else " \u00b7 ".join(self.axes)

    def short_name(self, cell: CellResult) -> str:
        r"""Return e.g. "hybrid \u00b7 256 \u00b7 2", or the changes of the base; the id if no axis distinguishes the
        cells.
        """
        return self.joined_name([cell])

    def prose_name(self, cell: CellResult) -> str:
        """Return the short name; a number by itself gets its axis, as in "top_k=5"."""
        name = self.short_name(cell)
        return f"{self.axes[0]}={name}" if len(self.axes) == 1 and name[:1].isdecimal() else name

    def full_name(self, cell: CellResult) -> str:
        """Return all values of a cell whose short name has only its change of the base; "" for other cells."""
        if self.base is None:
            return ""
        return ", ".join(f"{axis}={cell.axes[axis]}" for axis in self.axes if cell.axes.get(axis) is not None)

    def joined_name(self, cells: Sequence[CellResult]) -> str:
        r"""Return a name for cells with the same values, e.g. "bm25 \u00b7 64 \u00b7 2 or 8"."""
        if self.base is not None:
            return " or ".join(change_name(cell.axes, self.base) for cell in cells)
        values = [{cell.axes.get(axis) for cell in cells} for axis in self.axes]
        if math.prod(map(len, values)) > len(cells):  # the joined values would name further cells
            shown = " or ".join(map(self.short_name, cells[:_MAX_NAMES]))
            return shown if len(cells) <= _MAX_NAMES else f"{shown} or {len(cells) - _MAX_NAMES} more"
        return " \u00b7 ".join(self.levels(cells)) or cells[0].cell_id[:_ID_LENGTH]

    def levels(self, cells: Sequence[CellResult]) -> list[str]:
        """Return the values of the cells on each axis that they use; several values are joined."""
        levels = [dict.fromkeys(cell.axes.get(axis) for cell in cells) for axis in self.axes]
        return [" or ".join(map(format_level, values)) for values in levels if list(values) != [None]]

    def values_by_axis(self, cells: Sequence[CellResult]) -> dict[str, str]:
        """Return the value of each axis, or the values of several cells; a dash for an unused axis."""
        return {axis: join_levels(cells, axis, " or ") for axis in self.axes}
