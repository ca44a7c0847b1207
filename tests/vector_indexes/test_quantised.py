"""Truncated, Int8 and Binary: what they have in common, then the definition of each."""

from dataclasses import replace

import numpy as np
import pytest

from components.errors import ComponentError
from components.vector_indexes import mapped, similarity
from components.vector_indexes.binary import Binary
from components.vector_indexes.faiss_index import Flat
from components.vector_indexes.int8 import Int8
from components.vector_indexes.truncated import Truncated
from tests.contracts.ranking_checks import assert_is_ranking, rankings_of
from tests.contracts.vector_index_contract import (
    AnySizeContract,
    VectorIndexContract,
    built,
    random_vectors,
    share_found,
)
from tests.vector_indexes.clusters import clustered_vectors

INDEXES = (Truncated(dimensions=32), Int8(), Binary(oversampling=16), Int8(dimensions=32), Binary(dimensions=48))


class TestTruncatedToNothingLess(AnySizeContract):
    component = Truncated(dimensions=None)


class TestTruncated(VectorIndexContract):
    component = Truncated(dimensions=24)


class TestTruncatedAlone(VectorIndexContract):
    component = Truncated(dimensions=24, rescore=False)

    def test_truncated_scores_are_cosines_of_the_first_dimensions(self) -> None:
        vectors, queries = random_vectors(50), random_vectors(4, seed=1)
        short, asked = (
            some[:, :24] / np.linalg.norm(some[:, :24], axis=1, keepdims=True) for some in (vectors, queries)
        )
        hits = self.search(vectors, queries, 10)
        cosines = asked @ short.T
        assert rankings_of(hits) == (-cosines).argsort(axis=1)[:, :10].tolist()
        np.testing.assert_allclose(hits.score, np.sort(-cosines, axis=1)[:, :10] * -1, atol=1e-6)


class TestInt8(AnySizeContract):
    component = Int8()


class TestInt8Alone(VectorIndexContract):
    component = Int8(rescore=False)

    def test_int8_scores_are_products_with_the_middle_of_each_step(self) -> None:
        vectors, queries = random_vectors(60), random_vectors(5, seed=1)
        low, high = vectors.min(axis=0), vectors.max(axis=0)
        step = np.floor((vectors - low) / (high - low) * 255)
        meant = low + (step + 0.5) / 255 * (high - low)
        hits = self.search(vectors, queries, 60)
        for query, chunks, scores in zip(queries, hits.chunk, hits.score, strict=True):
            np.testing.assert_allclose(scores, meant[chunks] @ query, atol=1e-5)

    def test_int8_zero_vectors_are_not_found(self) -> None:
        vectors = random_vectors(5)
        vectors[[1, 3]] = 0
        assert sorted(rankings_of(self.search(vectors, vectors[:1], 5))[0]) == [0, 2, 4]

    def test_int8_index_built_in_blocks_equals_an_index_built_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        vectors = random_vectors(50)
        vectors[7] = 0
        whole = built(self.component, vectors)
        monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 8)
        assert {name: array.tobytes() for name, array in built(self.component, vectors).items()} == {
            name: array.tobytes() for name, array in whole.items()
        }


class TestBinary(AnySizeContract):
    component = Binary()


class TestBinaryAlone(VectorIndexContract):
    component = Binary(rescore=False)

    @pytest.mark.parametrize("n_dimensions", [32, 30])
    def test_binary_scores_are_cosines_of_signs_with_ties_by_position(self, n_dimensions: int) -> None:
        vectors, queries = random_vectors(300, n_dimensions), random_vectors(5, n_dimensions, seed=1)
        cosines = np.sign(queries) @ np.sign(vectors).T / n_dimensions
        hits = self.search(vectors, queries, 40)
        for query in range(5):
            best = np.lexsort((np.arange(300), -cosines[query]))[:40]
            assert hits.chunk[query].tolist() == best.tolist()
            np.testing.assert_allclose(hits.score[query], cosines[query][best], atol=1e-6)

    def test_binary_chunk_with_zero_cosine_is_a_hit(self) -> None:
        vectors = np.array([[0.6, -0.8], [0.8, 0.6]], dtype=np.float32)
        hits = self.search(vectors, vectors[1:], 2)
        assert hits.chunk.tolist() == [[1, 0]]
        assert hits.score.tolist() == [[1, 0]]

    def test_binary_index_built_in_blocks_equals_an_index_built_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        vectors = random_vectors(50)
        vectors[7] = 0
        whole = built(self.component, vectors)
        monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 8)
        assert [array.tolist() for array in built(self.component, vectors).values()] == [
            array.tolist() for array in whole.values()
        ]


@pytest.mark.parametrize("index", INDEXES, ids=repr)
class TestRescoring:
    def test_rescoring_finds_nearly_all_hits_and_scores_of_flat(self, index: Truncated | Int8 | Binary) -> None:
        vectors, queries = clustered_vectors(4000), clustered_vectors(50, seed=1)
        exact = Flat().search({}, vectors, queries, 20)
        found = index.search(built(index, vectors), vectors, queries, 20)
        alone = replace(index, rescore=False).search(built(index, vectors), vectors, queries, 20)
        assert share_found(found, exact) > 0.95
        assert share_found(alone, exact) <= share_found(found, exact)
        for chunks, scores, query in zip(found.chunk, found.score, queries, strict=True):
            np.testing.assert_allclose(scores, vectors[chunks] @ query, atol=1e-6)

    def test_rescoring_of_all_vectors_equals_flat_search(self, index: Truncated | Int8 | Binary) -> None:
        vectors, queries = clustered_vectors(200), clustered_vectors(9, seed=1)
        found = replace(index, oversampling=20.0).search(built(index, vectors), vectors, queries, 10)
        exact = Flat().search({}, vectors, queries, 10)
        np.testing.assert_array_equal(found.chunk, exact.chunk)
        np.testing.assert_allclose(found.score, exact.score, atol=1e-6)

    def test_rescoring_settings_keep_the_built_index(self, index: Truncated | Int8 | Binary) -> None:
        assert replace(index, rescore=False, oversampling=2.0).as_built == index.as_built
        assert replace(index, dimensions=16).as_built != index.as_built

    def test_rescoring_rejects_more_dimensions_than_the_vectors_have(self, index: Truncated | Int8 | Binary) -> None:
        with pytest.raises(ComponentError, match="dimensions: got 100, expected at most 64"):
            built(replace(index, dimensions=100), clustered_vectors(10))


def test_rescoring_reads_only_candidates_and_leaves_padding_out() -> None:
    vectors = random_vectors(20)
    candidates = np.array([[4, -1, 2, 9], [-1, -1, -1, -1]], dtype=np.int32)
    hits = similarity.rescore_hits(candidates, vectors, vectors[[9, 0]], 3)
    assert_is_ranking(hits, 2, 3)
    assert rankings_of(hits)[0][0] == 9
    assert sorted(rankings_of(hits)[0]) == [2, 4, 9]
    assert rankings_of(hits)[1] == []


def test_vector_without_the_first_dimensions_stays_zero() -> None:
    vectors = np.array([[0, 0, 1], [0.6, 0, 0.8]], dtype=np.float32)
    assert similarity.shorten_vectors(vectors, 2).tolist() == [[0, 0], [1, 0]]


def test_quantised_indexes_reject_invalid_settings() -> None:
    for wrong in (Truncated(0, oversampling=0.5), Int8(0, oversampling=0.5), Binary(0, oversampling=0.5)):
        assert wrong.check() == [
            "dimensions: got 0, expected at least 1, or null for all dimensions",
            "oversampling: got 0.5, expected at least 1 candidate per hit",
        ]
