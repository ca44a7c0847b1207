"""The contract of every fusion of a dense and a sparse ranking."""

import numpy as np
import pytest

from components.protocols import Fusion
from components.records import Hits
from tests.contracts.component_contract import ComponentContract
from tests.contracts.ranking_checks import assert_is_ranking, rankings_of


def hits_of(*rankings: dict[int, float], depth: int = 4) -> Hits:
    """Hits from one mapping of chunk to score per query, best first."""
    chunk = np.full((len(rankings), depth), -1, dtype=np.int32)
    score = np.full((len(rankings), depth), -np.inf, dtype=np.float32)
    for i, ranking in enumerate(rankings):
        chunk[i, : len(ranking)] = list(ranking)
        score[i, : len(ranking)] = list(ranking.values())
    return Hits(chunk, score)


DENSE = hits_of({3: 0.9, 1: 0.5, 7: -0.2}, {}, {2: 0.7}, {5: 0.4, 6: 0.4}, {})
SPARSE = hits_of({1: 12.0, 8: 3.0}, {4: 2.0}, {2: 5.0}, {6: 1.0, 5: 1.0}, {}, depth=3)


class FusionContract(ComponentContract):
    """Contract of fusions that give both rankings a weight."""

    component: Fusion

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Fusion)

    @pytest.mark.parametrize("depth", [1, 3, 20])
    def test_fusion_returns_valid_rankings(self, depth: int) -> None:
        assert_is_ranking(self.component.fuse([DENSE, SPARSE], depth), 5, depth)

    def test_fused_ranking_holds_the_union_of_hits(self) -> None:
        found = rankings_of(self.component.fuse([DENSE, SPARSE], 10))
        assert [sorted(ranking) for ranking in found] == [[1, 3, 7, 8], [4], [2], [5, 6], []]

    def test_fusion_to_a_smaller_depth_is_a_prefix(self) -> None:
        whole, best = (rankings_of(self.component.fuse([DENSE, SPARSE], depth)) for depth in (10, 2))
        assert best == [ranking[:2] for ranking in whole]

    def test_ranking_fused_with_itself_keeps_its_order(self) -> None:
        assert rankings_of(self.component.fuse([DENSE, DENSE], 10)) == rankings_of(DENSE)

    def test_hit_ranked_first_by_both_searches_stays_first(self) -> None:
        first, second = hits_of({9: 3.0, 1: 2.0}), hits_of({9: 0.2, 2: 0.1})
        assert rankings_of(self.component.fuse([first, second], 10))[0][0] == 9

    def test_empty_batch_of_queries_gives_an_empty_result(self) -> None:
        assert_is_ranking(self.component.fuse([hits_of(), hits_of()], 3), 0, 3)

    def test_fusion_of_empty_rankings_is_empty(self) -> None:
        nothing = Hits(np.zeros((2, 0), dtype=np.int32), np.zeros((2, 0), dtype=np.float32))
        assert rankings_of(self.component.fuse([nothing, nothing], 3)) == [[], []]

    def test_fusion_does_not_change_its_input(self) -> None:
        before = DENSE.chunk.copy(), DENSE.score.copy()
        self.component.fuse([DENSE, SPARSE], 3)
        np.testing.assert_array_equal(DENSE.chunk, before[0])
        np.testing.assert_array_equal(DENSE.score, before[1])
