"""The groups of dependent samples behind a cell's numbers, and how commands and reports name them."""

from collections.abc import Iterable

from components.clusters import Groups
from components.errors import DataError
from runner.results.cell_result import CellResult

_COARSEST_FIRST = (Groups.DOCUMENT, Groups.SOURCE, Groups.NONE)

_NOTES = {
    Groups.SOURCE: "only samples with the same first gold document count as dependent",
    Groups.NONE: "all samples count as independent",
}


def recorded_groups(cell: CellResult) -> Groups:
    """The `dataset.groups` that a cell was run with. Raises DataError if its file names unknown ones."""
    name = cell.dataset.get("groups", Groups.DOCUMENT)
    try:
        return Groups(name)
    except ValueError as error:
        raise DataError(
            f"{cell.cell_id}: cell.json has dataset.groups={name!r}, expected {', '.join(Groups)}; run the cell again"
        ) from error


def coarsest(cells: Iterable[CellResult]) -> Groups:
    """The groups by which these cells are compared: those that contain the groups of every cell. The default without
    cells. Raises DataError as `recorded_groups` does.
    """
    return min(map(recorded_groups, cells), key=_COARSEST_FIRST.index, default=Groups.DOCUMENT)


def groups_note(cells: Iterable[CellResult]) -> str:
    """The assumption by which these cells are compared, "" for the default: "dataset.groups=none: all samples count as
    independent".
    """
    groups = coarsest(cells)
    return f"dataset.groups={groups}: {_NOTES[groups]}" if groups in _NOTES else ""


def too_few_groups(n: int) -> str:
    """Said by all commands where so many groups cannot show any difference."""
    return f"too few groups of samples ({n:,}) to tell"
