import numpy as np
import pytest

from components.diversity.marginal_relevance import by_marginal_relevance
from components.diversity.mmr_by_terms import MmrByTerms
from components.diversity.mmr_by_vectors import MmrByVectors
from components.embedders.hashing import Hashing
from components.tokenizers.character_bigrams import CharacterBigrams
from tests.contracts.diversity_contract import HITS, DiversityContract
from tests.contracts.fusion_contract import hits_of
from tests.contracts.ranking_checks import rankings_of

WORDS = CharacterBigrams()


class TestByTerms(DiversityContract):
    component = MmrByTerms(tokenizer=WORDS)

    def test_redundant_hits_rank_below_novel_hits(self) -> None:
        assert rankings_of(self.diversify(HITS))[0].index(1) > rankings_of(self.diversify(HITS))[0].index(2)


class TestOneByTerms(DiversityContract):
    component = MmrByTerms(depth=1, tokenizer=WORDS)

    def test_relevance_keeps_hits_beyond_the_depth_in_order(self) -> None:
        assert rankings_of(self.diversify(HITS)) == rankings_of(HITS)


class TestByVectors(DiversityContract):
    component = MmrByVectors(Hashing(), 0.2)

    def test_redundant_hits_rank_below_novel_hits(self) -> None:
        assert rankings_of(self.diversify(HITS))[0].index(1) > rankings_of(self.diversify(HITS))[0].index(2)


class TestRelevanceAlone(DiversityContract):
    component = MmrByVectors(Hashing(), 1.0)

    def test_relevance_alone_keeps_the_ranking(self) -> None:
        assert rankings_of(self.diversify(HITS)) == rankings_of(HITS)


def test_marginal_relevance_equals_hand_computed_order() -> None:
    """Four hits with relevance 1, 0.8, 0.5, 0; the first two are equal."""
    alike = np.array([[1, 0.9, 0.2, 0.1], [0.9, 1, 0.2, 0.1], [0.2, 0.2, 1, 0.6], [0.1, 0.1, 0.6, 1]])
    hits = hits_of({4: 30.0, 7: 28.0, 1: 25.0, 3: 20.0, 9: 5.0}, depth=6)
    places = {4: 0, 7: 1, 1: 2, 3: 3}
    found = by_marginal_relevance(
        hits,
        4,
        0.5,
        lambda chunks: alike[np.ix_([places[c] for c in chunks.tolist()], [places[c] for c in chunks.tolist()])],
    )
    # 0.5; then 0.4 - 0.45, 0.25 - 0.1 and 0 - 0.05; then 0.4 - 0.45 and 0 - 0.3; the fifth is behind the depth.
    assert found.chunk.tolist() == [[4, 1, 7, 3, 9, -1]]
    np.testing.assert_allclose(found.score[0], [0.5, 0.15, -0.05, -0.3, -1.3, -np.inf], rtol=1e-6)


@pytest.mark.parametrize(
    ("depth", "weight", "problem"), [(0, 0.5, "depth: got 0"), (5, 1.5, "relevance_weight: got 1.5")]
)
def test_marginal_relevance_rejects_zero_depth_and_weights_above_one(depth: int, weight: float, problem: str) -> None:
    for component in (MmrByTerms(weight, depth), MmrByVectors(Hashing(), weight, depth)):
        (found,) = component.check()
        assert found.startswith(problem)
