"""The contract of every reranker."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.protocols import Reranker
from tests.contracts.component_contract import ComponentContract
from tests.contracts.passages import passages, queries_for, term_table

CHUNKS = ("西湖在杭州城西", "故宫在北京城中", "", "杭州西湖的游人很多", "央行下调利率")
QUERIES = ("西湖在杭州吗", "利率", "", "moon")
PAIRS = np.array([(q, c) for q in range(len(QUERIES)) for c in range(len(CHUNKS))], dtype=np.int32)


class RerankerContract(ComponentContract):
    """Contract of rerankers."""

    component: Reranker
    rounding = 0.0
    """Tolerance for scores that were computed in another batch."""

    def score(
        self, pairs: NDArray[np.int32], queries: Sequence[str] = QUERIES, chunks: Sequence[str] = CHUNKS
    ) -> NDArray[np.float32]:
        """Scores of pairs."""
        table = term_table(chunks, self.component.tokenizer)
        given = queries_for(queries, self.component.tokenizer, table)
        return self.component.score(given, passages(chunks, table), pairs)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Reranker)

    def test_reranker_returns_one_finite_float32_per_pair(self) -> None:
        scores = self.score(PAIRS)
        assert scores.shape == (len(PAIRS),)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()

    def test_empty_batch_of_pairs_gives_no_scores(self) -> None:
        nothing = np.zeros((0, 2), dtype=np.int32)
        for queries, chunks in ((QUERIES, CHUNKS), ((), ()), (QUERIES, ())):
            scores = self.score(nothing, queries, chunks)
            assert (scores.shape, scores.dtype) == ((0,), np.float32)

    def test_reranker_scores_chunks_without_words_as_finite(self) -> None:
        assert np.isfinite(self.score(PAIRS[:2], QUERIES, ("", "。"))).all()

    def test_rerank_score_does_not_depend_on_the_other_pairs(self) -> None:
        alone = np.concatenate([self.score(pair[np.newaxis]) for pair in PAIRS])
        np.testing.assert_allclose(alone, self.score(PAIRS), rtol=1e-6, atol=self.rounding)

    def test_reranker_scores_follow_the_order_of_the_pairs(self) -> None:
        order = np.random.default_rng(0).permutation(len(PAIRS))
        np.testing.assert_array_equal(self.score(PAIRS[order]), self.score(PAIRS)[order])
