import numpy as np

from components.fusions.comb_sum import CombSum
from components.fusions.weighted import WeightedScores
from tests.contracts.fusion_contract import DENSE, SPARSE, FusionContract, hits_of


class TestCombSum(FusionContract):
    component = CombSum()


class TestWithWeights(FusionContract):
    component = CombSum((0.3, 0.7))


def test_comb_sum_of_three_rankings_equals_hand_computed_scores() -> None:
    third = hits_of({8: 5.0, 7: 4.0, 1: 3.0})
    first = [type(hits)(hits.chunk[:1], hits.score[:1]) for hits in (DENSE, SPARSE)]
    hits = CombSum((1.0, 2.0, 0.5)).fuse([*first, third], 4)
    # Dense 3, 1, 7 have 1, 0.7 / 1.1, 0; sparse 1, 8 have 1, 0, twice; the third 8, 7, 1 have 1, 0.5, 0, half.
    assert hits.chunk[0].tolist() == [1, 3, 8, 7]
    np.testing.assert_allclose(hits.score[0], [0.7 / 1.1 + 2, 1, 0.5, 0.25], rtol=1e-6)


def test_comb_sum_of_two_rankings_equals_weighted_scores() -> None:
    one, other = CombSum((0.6, 0.4)).fuse([DENSE, SPARSE], 4), WeightedScores(0.6).fuse([DENSE, SPARSE], 4)
    np.testing.assert_array_equal(one.chunk, other.chunk)
    np.testing.assert_array_equal(one.score, other.score)


def test_comb_sum_rejects_a_negative_weight() -> None:
    assert CombSum((1.0, -1.0)).check() == [
        "weights: got [1.0, -1.0], expected a number per search, none negative and not all 0"
    ]
