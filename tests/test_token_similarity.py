"""Late interaction against its definition, token by token."""

import numpy as np
import pytest

from components import token_similarity
from components.encodings import MultiVectors
from components.token_similarity import best_chunks, score_pairs
from tests.contracts.ranking_checks import assert_is_ranking, rankings_of


def texts(*lengths: int, seed: int = 0) -> MultiVectors:
    """Return texts with these numbers of unit vectors of 8 dimensions."""
    vectors = np.random.default_rng(seed).standard_normal((sum(lengths), 8))
    ends = np.cumsum([0, *lengths])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return MultiVectors(unit.astype(np.float16), ends[:-1], ends[1:])


def defined(queries: MultiVectors, chunks: MultiVectors, query: int, chunk: int) -> float:
    asked = queries.vectors[queries.first[query] : queries.last[query]].astype(np.float64)
    read = chunks.vectors[chunks.first[chunk] : chunks.last[chunk]].astype(np.float64)
    return float(np.mean([max(token @ other for other in read) for token in asked]))


QUERIES = texts(3, 1, 0, 5, seed=1)
CHUNKS = texts(4, 0, 7, 2, 2, 9, 1)
PAIRS = np.array([(q, c) for q in (3, 0, 1) for c in (6, 0, 5, 2, 3)], dtype=np.int32)


@pytest.fixture(params=[5, 100], ids=["several blocks", "one block"])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_similarity, "_VECTORS_AT_ONCE", request.param)
    monkeypatch.setattr(token_similarity, "_QUERY_VECTORS_AT_ONCE", request.param)


@pytest.mark.usefixtures("block")
class TestByDefinition:
    def test_late_interaction_scores_equal_the_definition(self) -> None:
        expected = [defined(QUERIES, CHUNKS, q, c) for q, c in PAIRS.tolist()]
        scores = score_pairs(QUERIES, CHUNKS, PAIRS)
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, expected, atol=1e-5)

    def test_late_interaction_search_equals_brute_force_maxsim(self) -> None:
        hits = best_chunks(QUERIES, CHUNKS, 4)
        assert_is_ranking(hits, 4, 4)
        for query in (0, 1, 3):
            scores = {c: defined(QUERIES, CHUNKS, query, c) for c in (0, 2, 3, 4, 5, 6)}
            assert rankings_of(hits)[query] == sorted(scores, key=lambda c: -scores[c])[:4]
            np.testing.assert_allclose(hits.score[query], sorted(scores.values(), reverse=True)[:4], atol=1e-5)

    def test_text_without_token_vectors_has_no_hits_and_is_no_hit(self) -> None:
        hits = best_chunks(QUERIES, CHUNKS, 100)
        assert hits.chunk.shape == (4, 7)
        assert rankings_of(hits)[2] == []
        assert all(sorted(rankings_of(hits)[query]) == [0, 2, 3, 4, 5, 6] for query in (0, 1, 3))
        assert score_pairs(QUERIES, CHUNKS, np.array([[2, 0], [0, 1]], dtype=np.int32)).tolist() == [0, 0]

    def test_equal_token_vector_chunks_are_ordered_by_position(self) -> None:
        chunks = CHUNKS.rows(np.array([3, 5, 3, 5, 3]))
        order = rankings_of(best_chunks(QUERIES, chunks, 5))[0]
        assert [row for row in order if row % 2 == 0] == [0, 2, 4]
        assert [row for row in order if row % 2] == [1, 3]


def test_selected_rows_are_the_vectors_of_their_texts() -> None:
    np.testing.assert_array_equal(
        best_chunks(QUERIES.rows(np.array([3, 0])), CHUNKS.rows(slice(2, 5)), 3).chunk,
        best_chunks(QUERIES, CHUNKS.rows(np.array([2, 3, 4])), 3).chunk[[3, 0]],
    )


def test_empty_late_interaction_inputs_give_empty_results() -> None:
    assert score_pairs(QUERIES, CHUNKS, np.zeros((0, 2), dtype=np.int32)).shape == (0,)
    assert best_chunks(QUERIES.rows(slice(0, 0)), CHUNKS, 3).chunk.shape == (0, 3)
    assert best_chunks(QUERIES, CHUNKS.rows(slice(0, 0)), 3).chunk.shape == (4, 0)
