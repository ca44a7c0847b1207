"""Groups of dependent samples behind a cell's numbers, and how commands and reports name them."""

from collections.abc import Iterable

from components.clusters import Groups
from components.errors import DataError
from components.limits import expected_one_of
from runner.results.cell_result import CellResult

_COARSEST_FIRST = (Groups.DOCUMENT, Groups.SOURCE, Groups.NONE)

_NOTES = {
    Groups.SOURCE: "only samples with the same first gold document count as dependent",
    Groups.NONE: "all samples count as independent",
}


def recorded_groups(cell: CellResult) -> Groups:
    """Return the `dataset.groups` that a cell was run with. Raises DataError for an unknown value."""
    name = cell.dataset.get("groups", Groups.DOCUMENT)
    try:
        return Groups(name)
    except ValueError as error:
        raise DataError(
            f"{cell.cell_id}: cell.json has dataset.groups={name!r}{expected_one_of(name, list(Groups))}. "
            "Run the cell again."
        ) from error


def coarsest_groups(cells: Iterable[CellResult]) -> Groups:
    """Return the groups by which these cells are compared: they contain the groups of every cell.

    Returns the default without cells. Raises DataError for an unknown value of `dataset.groups`.
    """
    return min(map(recorded_groups, cells), key=_COARSEST_FIRST.index, default=Groups.DOCUMENT)


def groups_note(cells: Iterable[CellResult]) -> str:
    """Return the assumption about groups, such as "dataset.groups=none: all samples count as independent".

    Returns "" for the default.
    """
    groups = coarsest_groups(cells)
    return f"dataset.groups={groups}: {_NOTES[groups]}" if groups in _NOTES else ""


def effective_groups_note(n: int, n_effective: float) -> str:
    """Return e.g. ", effectively 5", to follow the number of groups; "" if their sizes hardly differ."""
    return "" if round(n_effective) >= n else f", effectively {n_effective:,.0f}"


def too_few_groups(n: int, n_effective: float) -> str:
    """Return the message of all commands for groups that are too few, or too unequal, for any test."""
    return f"too few groups of samples ({n:,}{effective_groups_note(n, n_effective)}) to tell"
