import numpy as np
import pytest

from components.rerankers import lexical
from components.rerankers.lexical import LexicalCoverage
from tests.contracts.passages import passages, queries_for, term_table
from tests.contracts.reranker_contract import PAIRS, RerankerContract


class TestLexicalCoverage(RerankerContract):
    component = LexicalCoverage()

    def test_lexical_scores_are_shares(self) -> None:
        scores = self.score(PAIRS)
        assert scores.min() == 0
        assert 0 < scores.max() <= 1


class TestTermsOnly(RerankerContract):
    component = LexicalCoverage(bigram_weight=0.0)


CHUNKS = ("西湖 故宫 长城", "故宫 西湖", "西湖 西湖 西湖", "泰山")
IDF_LAKE = np.log(1 + (4 - 3 + 0.5) / (3 + 0.5))
IDF_PALACE = np.log(1 + (4 - 2 + 0.5) / (2 + 0.5))


def scores_of(query: str, bigram_weight: float) -> list[float]:
    """Scores of all chunks for one query."""
    reranker = LexicalCoverage(bigram_weight=bigram_weight)
    table = term_table(CHUNKS, reranker.tokenizer)
    pairs = np.array([(0, i) for i in range(len(CHUNKS))], dtype=np.int32)
    queries = queries_for([query], reranker.tokenizer, table)
    return reranker.score(queries, passages(CHUNKS, table), pairs).tolist()


def test_term_coverage_equals_hand_computed_values() -> None:
    share = IDF_LAKE / (IDF_LAKE + IDF_PALACE)
    assert scores_of("西湖 故宫 西湖", 0.0) == pytest.approx([1, 1, share, 0], rel=1e-6)


def test_bigram_coverage_equals_hand_computed_values() -> None:
    # The query's bigrams: lake palace, palace lake (both of equal weight). Chunk 0 holds the first, chunk 1 the second.
    assert scores_of("西湖 故宫 西湖", 1.0) == pytest.approx([0.5, 0.5, 0, 0], rel=1e-6)


def test_bigrams_are_weighted_by_their_terms() -> None:
    idf_wall = np.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    first, second = IDF_LAKE + IDF_PALACE, IDF_PALACE + idf_wall
    lake_twice = 2 * IDF_LAKE
    total = lake_twice + first + second
    expected = [(first + second) / total, 0, lake_twice / total, 0]
    assert scores_of("西湖 西湖 故宫 长城", 1.0) == pytest.approx(expected, rel=1e-6)


def test_scores_mix_unigrams_and_bigrams() -> None:
    terms, bigrams, mixed = (np.array(scores_of("西湖 故宫", weight)) for weight in (0.0, 1.0, 0.4))
    np.testing.assert_allclose(mixed, 0.6 * terms + 0.4 * bigrams, rtol=1e-6)


def test_query_of_a_single_term_has_no_bigram_score() -> None:
    assert scores_of("泰山", 0.4) == pytest.approx([0, 0, 0, 0.6], rel=1e-6)


def test_query_without_a_known_word_scores_zero() -> None:
    assert scores_of("月亮", 0.4) == [0, 0, 0, 0]


def test_lexical_pairs_are_split_into_blocks() -> None:
    rows = np.arange(7)
    assert [block.tolist() for block in lexical._blocks(rows, 3)] == [[0, 1, 2], [3, 4, 5], [6]]


def test_lexical_coverage_rejects_zero_depth_and_a_weight_above_one() -> None:
    assert LexicalCoverage(0, 2.0).check() == [
        "depth: got 0, expected at least 1 (for none, use reranker=none)",
        "bigram_weight: got 2.0, expected a share in [0, 1]",
    ]
