"""Divides questions into splits so that each has its share of every metric and grade."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from components.errors import DataError


def split_groups(
    groups: NDArray[np.int64], strata: Sequence[Sequence[Hashable]], shares: Sequence[float], seed: int
) -> list[int]:
    """Return the split of each item, as an index into `shares`, which sum to 1. No split is empty.

    `groups` int64[n_items] number the groups of items that must stay together. `strata` are the things that each item
    counts as, any number of them.

    Groups are assigned one by one, the largest first and equal ones in a random order drawn with `seed`. Each goes to
    the split where it leaves the least squared distance to each stratum's share, relative to the size of the stratum.
    This is a greedy form of iterative stratification (Sechidis et al. 2011, "On the stratification of multi-label
    data"). Raises DataError for fewer groups than splits.
    """
    counts = _counts(groups, strata)
    n_groups = len(counts)
    if n_groups < len(shares):
        raise DataError(
            f"got {n_groups} groups of questions that have to stay together, expected at least {len(shares)}, one for "
            "each split. Label answers to more questions."
        )
    totals = counts.sum(axis=0)
    missing = np.outer(shares, totals)
    order = np.lexsort((np.random.default_rng(seed).permutation(n_groups), -counts.sum(axis=1)))
    split_of = np.full(n_groups, -1)
    for n_done, group in enumerate(order.tolist()):
        group_counts = counts[group]
        cost = ((group_counts * (group_counts - 2 * missing)) / totals).sum(axis=1)
        empty = [split for split in range(len(shares)) if split not in split_of]
        if n_groups - n_done <= len(empty):
            cost[[split for split in range(len(shares)) if split not in empty]] = np.inf
        split = int(cost.argmin())
        split_of[group] = split
        missing[split] -= group_counts
    return [int(split) for split in split_of[groups]]


def _counts(groups: NDArray[np.int64], strata: Sequence[Sequence[Hashable]]) -> NDArray[np.float64]:
    """Return the number of items of each stratum in each group, float64[n_groups, n_strata]."""
    column_of: dict[Hashable, int] = {}
    pairs = [
        (group, column_of.setdefault(name, len(column_of)))
        for group, names in zip(groups.tolist(), strata, strict=True)
        for name in names
    ]
    counts = np.zeros((int(groups.max()) + 1, len(column_of)))
    np.add.at(counts, tuple(np.array(pairs).T), 1.0)
    return counts
