"""Whole vectors in inverted lists."""

from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import pytest

from components.vector_indexes import ivf_flat, mapped
from components.vector_indexes.faiss_index import Flat
from components.vector_indexes.ivf_flat import IvfFlat
from components.vector_indexes.similarity import BEYOND, rank
from tests.contracts.ranking_checks import rankings_of
from tests.contracts.vector_index_contract import (
    AnySizeContract,
    VectorIndexContract,
    built,
    random_vectors,
    share_found,
)
from tests.vector_indexes.clusters import clustered_vectors, round_to_grid

VECTORS, QUERIES = round_to_grid(clustered_vectors(4000)), round_to_grid(clustered_vectors(50, seed=1))
INDEX = IvfFlat(n_lists=64, n_probes=8)


class TestAllLists(AnySizeContract):
    component = IvfFlat()


class TestSomeLists(VectorIndexContract):
    component = IvfFlat(n_lists=5, n_probes=2)


def test_ivf_flat_search_of_all_lists_equals_flat() -> None:
    found = replace(INDEX, n_probes=64).search(built(INDEX, VECTORS), VECTORS, QUERIES, 100)
    exact = Flat().search({}, VECTORS, QUERIES, 100)
    np.testing.assert_array_equal(found.chunk, exact.chunk)
    np.testing.assert_array_equal(found.score, exact.score)


def test_more_probes_find_more_hits_with_exact_scores() -> None:
    index, exact = built(INDEX, VECTORS), Flat().search({}, VECTORS, QUERIES, 20)
    few, more = (replace(INDEX, n_probes=n).search(index, VECTORS, QUERIES, 20) for n in (1, 8))
    assert share_found(few, exact) < share_found(more, exact)
    assert share_found(more, exact) > 0.9
    for chunks, scores, query in zip(more.chunk, more.score, QUERIES, strict=True):
        np.testing.assert_allclose(scores, VECTORS[chunks] @ query, atol=2e-6)


def test_ivf_flat_equals_the_faiss_index() -> None:
    index = built(INDEX, VECTORS)
    theirs = faiss.IndexIVFFlat(faiss.IndexFlatIP(64), 64, 64, faiss.METRIC_INNER_PRODUCT)
    theirs.quantizer.add(np.asarray(index["centroids"]))
    theirs.is_trained, theirs.nprobe = True, 8
    theirs.add(VECTORS)
    expected = rank(*theirs.search(QUERIES, 20 + BEYOND), 20)
    found = INDEX.search(index, VECTORS, QUERIES, 20)
    np.testing.assert_array_equal(found.chunk, expected.chunk)
    np.testing.assert_array_equal(found.score, expected.score)


def test_every_vector_is_in_the_list_of_its_nearest_centroid() -> None:
    index = {name: np.asarray(array) for name, array in built(INDEX, VECTORS).items()}
    np.testing.assert_array_equal(index["vectors"], VECTORS[index["rows"]])
    assert sorted(index["rows"].tolist()) == list(range(len(VECTORS)))
    nearest = (VECTORS @ index["centroids"].T).argmax(axis=1)
    for number, (first, last) in enumerate(zip(index["first"], index["first"][1:], strict=False)):
        rows = index["rows"][first:last].tolist()
        assert rows == np.flatnonzero(nearest == number).tolist()


def test_ivf_flat_index_does_not_depend_on_threads_and_block_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "vectors.npy", VECTORS)
    on_disk = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    whole = built(INDEX, VECTORS)
    monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 1024)
    n_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        again = built(INDEX, on_disk)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(n_threads)
    assert {name: array.tobytes() for name, array in again.items()} == {
        name: array.tobytes() for name, array in whole.items()
    }


def test_ivf_flat_query_batches_find_the_same_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    index = built(INDEX, VECTORS)
    expected = INDEX.search(index, VECTORS, QUERIES, 20)
    monkeypatch.setattr(ivf_flat, "_CANDIDATES_AT_ONCE", 20 * 8 * 52)
    found = INDEX.search(index, VECTORS, QUERIES, 20)
    np.testing.assert_array_equal(found.chunk, expected.chunk)
    np.testing.assert_array_equal(found.score, expected.score)


def test_ivf_flat_has_at_most_one_list_per_vector() -> None:
    vectors = random_vectors(3)
    index = IvfFlat(n_lists=50, n_probes=50)
    assert len(built(index, vectors)["centroids"]) == 3
    assert len(rankings_of(index.search(built(index, vectors), vectors, vectors[:1], 5))[0]) == 3


def test_number_of_probes_does_not_change_the_built_index() -> None:
    assert replace(INDEX, n_probes=3).as_built == INDEX.as_built
    assert replace(INDEX, n_lists=70).as_built != INDEX.as_built


def test_ivf_flat_rejects_invalid_settings() -> None:
    assert IvfFlat(0, 0, 0).check() == [
        "n_lists: got 0, expected at least 1",
        "n_probes: got 0, expected at least 1",
        "n_training_per_list: got 0, expected at least 1",
    ]
    assert IvfFlat(4, 5).check() == ["n_probes: got 5, expected at most n_lists=4"]
