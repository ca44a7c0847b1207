"""The contract of every vector index."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from numpy.typing import NDArray

from components.protocols import Arrays, VectorIndex
from components.records import Hits
from tests.contracts.component_contract import ComponentContract
from tests.contracts.ranking_checks import assert_is_ranking, rankings_of


def random_vectors(n: int, n_dimensions: int = 32, seed: int = 0) -> NDArray[np.float32]:
    """Unit vectors."""
    vectors = np.random.default_rng(seed).standard_normal((n, n_dimensions)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def share_found(hits: Hits, exact: Hits) -> float:
    """Return the share of the chunks in the exact ranking that another ranking contains."""
    pairs = list(zip(rankings_of(hits), rankings_of(exact), strict=True))
    return sum(len(set(a) & set(b)) for a, b in pairs) / sum(len(b) for _, b in pairs)


def built(index: VectorIndex, vectors: NDArray[np.float32]) -> Arrays:
    """Return the built index. Its files were deleted, but can still be read while they are mapped."""
    with TemporaryDirectory() as place:
        return index.build(vectors, Path(place))


class VectorIndexContract(ComponentContract):
    """Contract of vector indexes; `n_vectors` is a number of them that the index can be built over."""

    component: VectorIndex
    n_vectors = 40

    def search(self, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Builds and searches."""
        return self.component.search(built(self.component, vectors), vectors, queries, depth)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, VectorIndex)

    def test_depth_beyond_the_number_of_vectors_changes_no_ranking(self) -> None:
        """Memory follows the number of vectors, not the depth, at which a query would take 800 MB."""
        vectors, queries = random_vectors(self.n_vectors), random_vectors(9, seed=1)
        whole, deeper = (self.search(vectors, queries, depth) for depth in (self.n_vectors, 100_000_000))
        np.testing.assert_array_equal(whole.chunk, deeper.chunk)
        np.testing.assert_array_equal(whole.score, deeper.score)

    @pytest.mark.parametrize("depth", [1, 7, 100])
    def test_vector_search_returns_valid_rankings(self, depth: int) -> None:
        hits = self.search(random_vectors(self.n_vectors), random_vectors(9, seed=1), depth)
        assert_is_ranking(hits, 9, min(depth, self.n_vectors))

    def test_vector_is_its_own_first_hit(self) -> None:
        vectors = random_vectors(self.n_vectors)
        assert [row[0] for row in rankings_of(self.search(vectors, vectors[:10], 3))] == list(range(10))

    def test_equal_vectors_are_ordered_by_position(self) -> None:
        vectors = random_vectors(self.n_vectors)
        vectors[[33, 5, 12, 21]] = vectors[2]
        hits = self.search(vectors, vectors[[2, 33]], 4)
        assert rankings_of(hits) == [[2, 5, 12, 21]] * 2

    def test_hits_beyond_the_number_of_vectors_are_padding(self) -> None:
        hits = self.search(random_vectors(self.n_vectors), random_vectors(3, seed=1), self.n_vectors + 50)
        assert_is_ranking(hits, 3, self.n_vectors)

    def test_zero_query_vector_has_no_hits(self) -> None:
        hits = self.search(random_vectors(self.n_vectors), np.zeros((2, 32), dtype=np.float32), 5)
        assert rankings_of(hits) == [[], []]

    def test_empty_batch_of_queries_gives_an_empty_result(self) -> None:
        hits = self.search(random_vectors(self.n_vectors), np.zeros((0, 32), dtype=np.float32), 5)
        assert_is_ranking(hits, 0, 5)

    def test_vector_search_is_deterministic(self) -> None:
        vectors, queries = random_vectors(self.n_vectors), random_vectors(9, seed=1)
        first, second = (self.search(vectors, queries, 20) for _ in range(2))
        np.testing.assert_array_equal(first.chunk, second.chunk)
        np.testing.assert_array_equal(first.score, second.score)


class AnySizeContract(VectorIndexContract):
    """Contract of indexes that can be built over any number of vectors."""

    def test_index_without_vectors_has_no_hits(self) -> None:
        assert rankings_of(self.search(random_vectors(0), random_vectors(2), 5)) == [[], []]

    def test_zero_dimensional_vectors_have_no_hits(self) -> None:
        hits = self.search(np.zeros((3, 0), dtype=np.float32), np.zeros((2, 0), dtype=np.float32), 5)
        assert rankings_of(hits) == [[], []]

    def test_index_of_a_single_vector_returns_the_vector(self) -> None:
        assert rankings_of(self.search(random_vectors(1), random_vectors(1), 5)) == [[0]]

    def test_zero_vectors_are_never_found(self) -> None:
        vectors = random_vectors(5)
        vectors[[1, 3]] = 0
        assert sorted(rankings_of(self.search(vectors, vectors[:1], 5))[0]) == [0, 2, 4]

    def test_vector_hits_equal_hand_computed_scores(self) -> None:
        vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], dtype=np.float32)
        hits = self.search(vectors, np.array([[1, 0], [0.8, 0.6]], dtype=np.float32), 4)
        assert hits.chunk.tolist() == [[0, 2, 3, -1], [2, 0, 1, 3]]
        np.testing.assert_allclose(hits.score, [[1, 0.6, -1, -np.inf], [0.96, 0.8, 0.6, -0.8]], atol=1e-6)
