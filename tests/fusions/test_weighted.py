import numpy as np
import pytest

from components.fusions.weighted import WeightedScores
from tests.contracts.fusion_contract import DENSE, SPARSE, FusionContract, hits_of


class TestWeightedScores(FusionContract):
    component = WeightedScores()


class TestMostlyDense(FusionContract):
    component = WeightedScores(dense_weight=0.9)


def test_weighted_scores_equal_hand_computed_values() -> None:
    hits = WeightedScores(0.6).fuse([DENSE, SPARSE], 4)
    # Dense 3, 1, 7 have 1, 0.7 / 1.1, 0 of 0.6; sparse 1, 8 have 1, 0 of 0.4.
    assert hits.chunk[0].tolist() == [1, 3, 7, 8]
    np.testing.assert_allclose(hits.score[0], [0.6 * 0.7 / 1.1 + 0.4, 0.6, 0, 0], rtol=1e-6)


def test_weighted_fusion_counts_equal_scores_in_full() -> None:
    hits = WeightedScores(0.25).fuse([DENSE, SPARSE], 2)
    assert hits.chunk[1:4].tolist() == [[4, -1], [2, -1], [5, 6]]
    assert hits.score[1:4].tolist() == [[0.75, -np.inf], [1.0, -np.inf], [1.0, 1.0]]


@pytest.mark.parametrize(("dense_weight", "order"), [(0.0, [2, 1, 3]), (1.0, [3, 2, 1])])
def test_zero_weight_keeps_only_the_other_ranking(dense_weight: float, order: list[int]) -> None:
    dense, sparse = hits_of({3: 3.0, 2: 2.0, 1: 1.0}), hits_of({2: 9.0, 1: 5.0, 3: 2.0})
    assert WeightedScores(dense_weight).fuse([dense, sparse], 3).chunk.tolist() == [order]


def test_weighted_fusion_rejects_a_weight_above_one() -> None:
    assert WeightedScores(1.5).check() == ["dense_weight: got 1.5, expected a share in [0, 1]"]
