"""Fusions of more than two rankings, from samples with several queries, ordered by search."""

import numpy as np
import pytest

from components.errors import ComponentError
from components.fusions.rrf import ReciprocalRank
from components.fusions.weighted import WeightedScores
from components.protocols import Fusion
from components.records import Hits
from tests.contracts.fusion_contract import DENSE, SPARSE


def test_fusion_gives_every_ranking_the_weight_of_its_search() -> None:
    twice = ReciprocalRank(weights=(0.25, 1.0)).fuse([DENSE, DENSE, SPARSE, SPARSE], 10)
    once = ReciprocalRank(weights=(0.25, 1.0)).fuse([DENSE, SPARSE], 10)
    np.testing.assert_array_equal(twice.chunk, once.chunk)
    np.testing.assert_allclose(twice.score, 2 * once.score, rtol=1e-6)


def test_equal_weights_fit_any_number_of_rankings() -> None:
    hits = ReciprocalRank(k=0).fuse([DENSE, DENSE, SPARSE], 10)
    # Chunk 3 is first in two rankings, chunk 1 second in two and first in one.
    assert hits.chunk[0].tolist()[:2] == [1, 3]
    np.testing.assert_allclose(hits.score[0, :2], [2 / 2 + 1, 2], rtol=1e-6)


@pytest.mark.parametrize("fusion", [ReciprocalRank(weights=(0.25, 1.0)), WeightedScores(0.3)])
def test_weights_for_another_number_of_rankings_are_refused(fusion: Fusion) -> None:
    with pytest.raises(ComponentError, match="got 3 rankings for the weights"):
        fusion.fuse([DENSE, DENSE, SPARSE], 10)


def test_missing_query_variants_do_not_affect_weights() -> None:
    none = Hits(np.full_like(DENSE.chunk, -1), np.full_like(DENSE.score, -np.inf))
    with_none = WeightedScores(0.3).fuse([DENSE, none, SPARSE, none], 10)
    np.testing.assert_array_equal(with_none.chunk, WeightedScores(0.3).fuse([DENSE, SPARSE], 10).chunk)
