"""The contract of every component that removes redundant hits."""

import numpy as np

from components.protocols import Diversity, TextDiversity, VectorDiversity
from components.records import Hits
from tests.contracts.component_contract import ComponentContract
from tests.contracts.fusion_contract import hits_of
from tests.contracts.passages import passages, term_table
from tests.contracts.ranking_checks import rankings_of

CHUNKS = (
    "the bank raised its rate in may",
    "the bank raised its rate in may .",
    "the river rose after the rain",
    "",
    "a new bridge over the river is planned",
    "the bank raised its rate in june",
)
HITS = hits_of({0: 9.0, 1: 8.0, 2: 5.0, 3: 4.0, 4: 1.0}, {}, {5: 2.0, 3: 1.0}, {4: 1.0, 2: 1.0, 0: 1.0}, depth=6)


class DiversityContract(ComponentContract):
    """Contract of both kinds."""

    component: Diversity

    def diversify(self, hits: Hits) -> Hits:
        """Hits among CHUNKS."""
        if isinstance(self.component, TextDiversity):
            return self.component.diversify(hits, passages(CHUNKS, term_table(CHUNKS, self.component.tokenizer)))
        given = passages(CHUNKS, term_table(CHUNKS, self.component.embedder.tokenizer))
        state = self.component.embedder.fit(given)
        return self.component.diversify_vectors(hits, self.component.embedder.embed_chunks(given, state))

    def test_diversifier_implements_exactly_one_protocol(self) -> None:
        assert isinstance(self.component, TextDiversity) != isinstance(self.component, VectorDiversity)

    def test_diversification_keeps_a_subset_of_the_hits_without_repeats(self) -> None:
        hits = self.diversify(HITS)
        assert hits.chunk.shape == hits.score.shape == HITS.chunk.shape
        assert (hits.chunk.dtype, hits.score.dtype) == (np.int32, np.float32)
        for before, after in zip(rankings_of(HITS), rankings_of(hits), strict=True):
            assert len(set(after)) == len(after)
            assert set(after) <= set(before)
            assert bool(after) == bool(before)

    def test_diversified_scores_do_not_rise_and_padding_is_last(self) -> None:
        hits = self.diversify(HITS)
        assert np.array_equal(hits.chunk == -1, hits.score == -np.inf)
        for scores in hits.score.tolist():
            assert scores == sorted(scores, reverse=True)

    def test_best_hit_stays_the_best(self) -> None:
        assert [own[:1] for own in rankings_of(self.diversify(HITS))] == [own[:1] for own in rankings_of(HITS)]

    def test_diversification_accepts_empty_input(self) -> None:
        assert self.diversify(hits_of()).chunk.shape[0] == 0
        nothing = Hits(np.zeros((2, 0), dtype=np.int32), np.zeros((2, 0), dtype=np.float32))
        assert rankings_of(self.diversify(nothing)) == [[], []]

    def test_diversification_does_not_change_its_input(self) -> None:
        before = HITS.chunk.copy(), HITS.score.copy()
        self.diversify(HITS)
        np.testing.assert_array_equal(HITS.chunk, before[0])
        np.testing.assert_array_equal(HITS.score, before[1])
