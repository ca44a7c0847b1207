"""Shares of every stratum, and groups that stay together."""

from collections import Counter
from collections.abc import Hashable

import numpy as np
import pytest

from components.errors import DataError
from runner.labels.training.question_splits import split_groups

SHARES = (0.5, 0.1, 0.4)


def drawn(n_items: int, seed: int) -> list[list[Hashable]]:
    random = np.random.default_rng(seed)
    metrics = {"accuracy": [0.15, 0.15, 0.7], "hallucination": [0.8, 0.2], "completeness": [0.3, 0.3, 0.4]}
    return [
        [None, *((name, int(random.choice(len(shares), p=shares))) for name, shares in metrics.items())]
        for _ in range(n_items)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_training_split_gives_every_grade_its_share(seed: int) -> None:
    strata = drawn(127, seed)
    split_of = split_groups(np.arange(127), strata, SHARES, seed)
    whole = Counter(stratum for own in strata for stratum in own)
    for split, share in enumerate(SHARES):
        counts = Counter(s for own, place in zip(strata, split_of, strict=True) if place == split for s in own)
        assert all(abs(counts[stratum] - share * n) < 2.5 for stratum, n in whole.items()), (split, counts)


def test_training_split_keeps_groups_together() -> None:
    groups = np.random.default_rng(0).integers(0, 30, 200)
    groups = np.unique(groups, return_inverse=True)[1]
    split_of = np.array(split_groups(groups, drawn(200, 0), SHARES, 0))
    assert all(len(set(split_of[groups == group])) == 1 for group in range(groups.max() + 1))
    assert np.bincount(split_of) / 200 == pytest.approx(SHARES, abs=0.05)


def test_training_split_is_never_empty_and_depends_on_the_seed() -> None:
    for n_groups in (3, 4, 5, 8):
        assert set(split_groups(np.arange(n_groups), drawn(n_groups, 1), SHARES, 0)) == {0, 1, 2}
    strata = drawn(60, 2)
    assert split_groups(np.arange(60), strata, SHARES, 1) == split_groups(np.arange(60), strata, SHARES, 1)
    assert split_groups(np.arange(60), strata, SHARES, 1) != split_groups(np.arange(60), strata, SHARES, 2)


def test_training_split_rejects_fewer_groups_than_splits() -> None:
    with pytest.raises(DataError, match="got 2 groups of questions that have to stay together, expected at least 3"):
        split_groups(np.array([0, 0, 1]), drawn(3, 0), SHARES, 0)
