from math import inf, nan

import numpy as np
import pytest

from components.fusions.rrf import ReciprocalRank
from tests.contracts.fusion_contract import DENSE, SPARSE, FusionContract


class TestReciprocalRank(FusionContract):
    component = ReciprocalRank()


class TestWithWeights(FusionContract):
    component = ReciprocalRank(k=1, weights=(0.3, 0.7))


def test_reciprocal_rank_scores_equal_hand_computed_values() -> None:
    hits = ReciprocalRank(k=60).fuse([DENSE, SPARSE], 4)
    # Ranks from 1: dense 3, 1, 7; sparse 1, 8. Chunks 3 and 8 differ by their rank alone.
    assert hits.chunk[0].tolist() == [1, 3, 8, 7]
    np.testing.assert_allclose(hits.score[0], [1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63], rtol=1e-6)


def test_reciprocal_rank_ties_break_by_position() -> None:
    hits = ReciprocalRank().fuse([DENSE, SPARSE], 4)
    assert hits.chunk[3].tolist() == [5, 6, -1, -1]
    assert hits.score[3, 0] == hits.score[3, 1]


def test_weighted_reciprocal_ranks_equal_hand_computed_values() -> None:
    hits = ReciprocalRank(k=0, weights=(1.0, 4.0)).fuse([DENSE, SPARSE], 4)
    assert hits.chunk[0].tolist() == [1, 8, 3, 7]
    np.testing.assert_allclose(hits.score[0], [1 / 2 + 4, 4 / 2, 1, 1 / 3], rtol=1e-6)


@pytest.mark.parametrize("weights", [(-1.0, 1.0), (0.0, 0.0, 0.0), (1.0, inf), (nan, 1.0)])
def test_reciprocal_rank_rejects_invalid_weights(weights: tuple[float, ...]) -> None:
    (problem,) = ReciprocalRank(weights=weights).check()
    assert problem.startswith(f"weights: got {list(weights)}, expected a number per search")


def test_missing_reciprocal_rank_weights_are_equal_weights() -> None:
    equal, none = ReciprocalRank(), ReciprocalRank(weights=())
    np.testing.assert_array_equal(none.fuse([DENSE, SPARSE], 4).chunk, equal.fuse([DENSE, SPARSE], 4).chunk)
    assert none.check() == []


def test_reciprocal_rank_rejects_negative_k() -> None:
    assert ReciprocalRank(k=-1).check() == ["k: got -1, expected at least 0"]
