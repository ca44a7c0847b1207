import numpy as np
import pytest

from components.encodings import SparseVectors
from components.protocols import TokenIndex
from components.records import Hits
from components.sparse_indexes.token_weights import TokenWeights
from tests.contracts.component_contract import ComponentContract
from tests.contracts.ranking_checks import assert_is_ranking, rankings_of

N_TOKENS = 30


def drawn(n: int, seed: int = 0) -> SparseVectors:
    """Texts of no to twelve tokens."""
    random = np.random.default_rng(seed)
    ids = [np.sort(random.choice(N_TOKENS, random.integers(13), replace=False)).astype(np.int32) for _ in range(n)]
    ends = np.cumsum([0, *map(len, ids)]).astype(np.int64)
    return SparseVectors(np.concatenate(ids), random.random(ends[-1], dtype=np.float32), ends[:-1], ends[1:])


def dense(texts: SparseVectors) -> np.ndarray:
    matrix = np.zeros((len(texts), N_TOKENS))
    for row, (first, last) in enumerate(zip(texts.first, texts.last, strict=True)):
        matrix[row, texts.ids[first:last]] = texts.weights[first:last]
    return matrix


def search(chunks: SparseVectors, queries: SparseVectors, depth: int) -> Hits:
    return TokenWeights().search(TokenWeights().build(chunks), queries, depth)


class TestTokenWeights(ComponentContract):
    component = TokenWeights()

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, TokenIndex)

    @pytest.mark.parametrize("depth", [1, 7, 1000])
    def test_chunks_with_shared_tokens_are_ranked_by_inner_product(self, depth: int) -> None:
        chunks, queries = drawn(200), drawn(20, seed=1)
        hits = search(chunks, queries, depth)
        assert_is_ranking(hits, 20, min(depth, 200))
        products = dense(queries) @ dense(chunks).T
        for row, (ranking, scores) in enumerate(zip(rankings_of(hits), hits.score, strict=True)):
            assert len(ranking) == min(depth, np.count_nonzero(products[row]))
            np.testing.assert_allclose(scores[: len(ranking)], np.sort(products[row])[::-1][: len(ranking)], atol=1e-5)
            np.testing.assert_allclose(scores[: len(ranking)], products[row, ranking], atol=1e-5)

    def test_equal_token_weight_chunks_are_ordered_by_position(self) -> None:
        chunks = drawn(20).rows(np.array([4, 9, 4, 9, 4]))
        assert rankings_of(search(chunks, chunks.rows(slice(0, 1)), 2))[0] in ([0, 2], [1, 3])

    def test_sliced_chunks_are_indexed_as_if_selected_by_row(self) -> None:
        chunks, queries = drawn(50), drawn(5, seed=1)
        part = search(chunks.rows(slice(10, 30)), queries, 20)
        np.testing.assert_array_equal(part.chunk, search(chunks.rows(np.arange(10, 30)), queries, 20).chunk)

    def test_tokens_without_a_chunk_find_no_hits(self) -> None:
        one = SparseVectors(np.array([3], np.int32), np.array([1], np.float32), np.array([0]), np.array([1]))
        other = SparseVectors(np.array([9], np.int32), np.array([1], np.float32), np.array([0]), np.array([1]))
        assert rankings_of(search(one, other, 3)) == [[]]
        assert rankings_of(search(other, one, 3)) == [[]]

    def test_empty_token_weight_inputs_give_empty_results(self) -> None:
        assert search(drawn(5).rows(slice(0, 0)), drawn(3), 4).chunk.shape == (3, 0)
        assert search(drawn(5), drawn(3).rows(slice(0, 0)), 4).chunk.shape == (0, 4)
