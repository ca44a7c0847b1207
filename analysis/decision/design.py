"""Weights of cells for the levels of an axis, so that levels are compared over the same values of all other axes.

A cell that does not use an axis is the same cell for every value of it: closed-book answers belong to every chunk size,
and reveal nothing about chunk sizes. Cells may be missing because they failed or were not requested. Then only those
combinations of the other axes count that all levels have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Levels = Mapping[str, Sequence[str | None]]
"""The level of every cell by axis; None if a cell does not use the axis."""

Corner = tuple[str, ...]
"""One level for each of some axes."""

_Pattern = tuple[str | None, ...]
"""Levels of the other axes."""


@dataclass(frozen=True)
class LevelDesign:
    """Comparable levels of an axis, over `n_combinations` combinations of the other axes.

    In `n_possible` combinations, two or more levels have a cell. `weights`, float64[n_cells, n_levels], turn the values
    of cells into the mean of a level. `apart` lists the levels that have no combination in common with the others.
    """

    axis: str
    levels: tuple[str, ...]
    weights: NDArray[np.float64]
    n_combinations: int
    n_possible: int
    apart: tuple[str, ...]


@dataclass(frozen=True)
class AxisPairDesign:
    """Two levels of each of two axes, over the combinations of the other axes that all four pairs of levels have.

    `with_c` and `with_d` float64[n_cells] are weights of cells. They give the gain of level `b` over level `a` of the
    first axis, with level `c` and with level `d` of the second axis.
    """

    axes: tuple[str, str]
    a: str
    b: str
    c: str
    d: str
    with_c: NDArray[np.float64]
    with_d: NDArray[np.float64]
    n_combinations: int


@dataclass(frozen=True)
class CornerDesign:
    """Comparable combinations of levels of some axes; fields as in `LevelDesign`."""

    corners: tuple[Corner, ...]
    weights: NDArray[np.float64]
    n_combinations: int
    n_possible: int
    apart: tuple[Corner, ...]


def level_design(axis: str, levels: Levels) -> LevelDesign | None:
    """Return the design of an axis; None if no two levels can be compared."""
    design = corner_design((axis,), levels)
    if design is None:
        return None
    compared, apart = (tuple(level for (level,) in corners) for corners in (design.corners, design.apart))
    return LevelDesign(axis, compared, design.weights, design.n_combinations, design.n_possible, apart)


def corner_design(axes: Sequence[str], levels: Levels) -> CornerDesign | None:
    """Return the design of all combinations of levels of these axes that a cell has; None if no two can be compared."""
    by_pattern = _cells_by_pattern(axes, levels)
    n_cells = len(levels[axes[0]])
    corner_of_cell = (tuple(levels[axis][cell] for axis in axes) for cell in range(n_cells))
    names = [tuple(map(str, corner)) for corner in dict.fromkeys(corner_of_cell) if None not in corner]
    covered = {pattern: [name for name in names if name in corners] for pattern, corners in by_pattern.items()}
    possible = [pattern for pattern, corners in covered.items() if len(corners) > 1]
    if not possible:
        return None
    chosen = max(possible, key=lambda pattern: (len(covered[pattern]), _count_combinations(covered[pattern], covered)))
    compared = covered[chosen]
    shared = [pattern for pattern, corners in covered.items() if set(compared) <= set(corners)]
    weights = [_mean_weights([by_pattern[pattern][name] for pattern in shared], n_cells) for name in compared]
    apart = tuple(name for name in names if name not in compared)
    return CornerDesign(tuple(compared), np.column_stack(weights), len(shared), len(possible), apart)


def _count_combinations(corners: Sequence[Corner], covered: Mapping[_Pattern, Sequence[Corner]]) -> int:
    """Count the combinations of the other axes that have all these corners."""
    return sum(set(corners) <= set(present) for present in covered.values())


def tetrads(first: str, second: str, levels: Levels) -> list[AxisPairDesign]:
    """Return all pairs of levels of one axis with all pairs of the other, if they have cells."""
    by_pattern = _cells_by_pattern((first, second), levels)
    n_cells = len(levels[first])
    firsts, seconds = ([each for each in dict.fromkeys(levels[axis]) if each is not None] for axis in (first, second))
    result = []
    for a, b in combinations(firsts, 2):
        for c, d in combinations(seconds, 2):
            corners = [(b, c), (a, c), (b, d), (a, d)]
            shared = [cells for cells in by_pattern.values() if all(corner in cells for corner in corners)]
            if shared:
                bc, ac, bd, ad = (_mean_weights([cells[corner] for cells in shared], n_cells) for corner in corners)
                result.append(AxisPairDesign((first, second), a, b, c, d, bc - ac, bd - ad, len(shared)))
    return result


def _cells_by_pattern(axes: Sequence[str], levels: Levels) -> dict[_Pattern, dict[Corner, list[int]]]:
    """Map every combination of the other axes to its corners, and these to the indices of their cells."""
    other_axes = [name for name in levels if name not in axes]
    n_cells = len(levels[axes[0]])
    corner_of = [tuple(levels[axis][cell] for axis in axes) for cell in range(n_cells)]
    complete = [cell for cell in range(n_cells) if None not in corner_of[cell]]
    pattern_of = {cell: tuple(levels[name][cell] for name in other_axes) for cell in complete}
    by_pattern: dict[_Pattern, dict[Corner, list[int]]] = {}
    for pattern in _most_specific(list(dict.fromkeys(pattern_of.values()))):
        corners = by_pattern.setdefault(pattern, {})
        for cell in complete:
            if _belongs_to(pattern_of[cell], pattern):
                corners.setdefault(tuple(map(str, corner_of[cell])), []).append(cell)
    return by_pattern


def _most_specific(patterns: Sequence[_Pattern]) -> list[_Pattern]:
    """Drop patterns that another pattern extends."""
    return [
        one
        for one in patterns
        if None not in one or not any(other != one and _belongs_to(one, other) for other in patterns)
    ]


def _belongs_to(pattern: _Pattern, combination: _Pattern) -> bool:
    """Return True if a cell with this pattern belongs to a combination of levels.

    Its levels must be equal, except for axes that the cell does not use.
    """
    return all(level is None or level == other for level, other in zip(pattern, combination, strict=True))


def _mean_weights(groups: Sequence[Sequence[int]], n_cells: int) -> NDArray[np.float64]:
    """Return weights of cells, float64[n_cells], for the mean over groups of the means within them."""
    weights = np.zeros(n_cells)
    for cells in groups:
        weights[list(cells)] += 1 / len(cells) / len(groups)
    return weights
