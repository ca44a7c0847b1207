import pytest

from components.errors import ComponentError
from components.vector_indexes import faiss_index, mapped
from components.vector_indexes.faiss_index import Flat, Hnsw, IvfPq
from tests.contracts.ranking_checks import rankings_of
from tests.contracts.vector_index_contract import (
    AnySizeContract,
    VectorIndexContract,
    built,
    random_vectors,
    share_found,
)


class TestFlat(AnySizeContract):
    component = Flat()

    def test_flat_index_ranks_all_vectors_by_inner_product(self) -> None:
        vectors, queries = random_vectors(200), random_vectors(20, seed=1)
        exact = (-(queries @ vectors.T)).argsort(axis=1)[:, :10]
        assert rankings_of(self.search(vectors, queries, 10)) == exact.tolist()


class TestHnsw(AnySizeContract):
    component = Hnsw()

    def test_hnsw_finds_nearly_all_hits_of_flat(self) -> None:
        vectors, queries = random_vectors(2000), random_vectors(50, seed=1)
        exact = Flat().search({}, vectors, queries, 10)
        assert share_found(self.search(vectors, queries, 10), exact) > 0.98

    def test_hnsw_graph_built_in_blocks_finds_as_many_hits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 300)
        self.test_hnsw_finds_nearly_all_hits_of_flat()


class TestIvfPq(VectorIndexContract):
    component = IvfPq(n_lists=4, n_subvectors=16, n_bits=4, n_probes=4)

    def test_ivf_pq_finds_most_hits_of_flat(self) -> None:
        vectors, queries = random_vectors(2000), random_vectors(50, seed=1)
        index = IvfPq(n_lists=8, n_subvectors=32, n_bits=6, n_probes=8)
        exact = Flat().search({}, vectors, queries, 10)
        found = index.search(built(index, vectors), vectors, queries, 50)
        assert share_found(found, exact) > 0.9

    def test_ivf_pq_is_built_in_blocks_and_trained_on_a_sample(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 300)
        monkeypatch.setattr(faiss_index, "_TRAINING_PER_CENTROID", 20)
        self.test_ivf_pq_finds_most_hits_of_flat()

    def test_ivf_pq_pads_hits_if_few_lists_are_probed(self) -> None:
        index = IvfPq(n_lists=16, n_subvectors=16, n_bits=4, n_probes=1)
        vectors = random_vectors(64)
        rankings = rankings_of(index.search(built(index, vectors), vectors, vectors[:8], 64))
        assert all(0 < len(ranking) < 64 for ranking in rankings)


@pytest.mark.parametrize(
    ("index", "n_vectors", "said"),
    [
        (IvfPq(), 100, "got 100 vectors of 32 dimensions, expected at least 256 vectors"),
        (IvfPq(n_lists=4, n_bits=4, n_probes=1, n_subvectors=5), 100, "divisible by n_subvectors=5"),
        (IvfPq(), 0, "use vector_index=flat"),
    ],
)
def test_ivf_pq_rejects_few_vectors_and_indivisible_dimensions(index: IvfPq, n_vectors: int, said: str) -> None:
    with pytest.raises(ComponentError, match=said):
        built(index, random_vectors(n_vectors))


def test_ivf_pq_rejects_more_probes_than_lists() -> None:
    assert IvfPq(n_lists=4, n_probes=5).check() == ["n_probes: got 5, expected at most n_lists=4"]


@pytest.mark.parametrize("value", [0, -1])
def test_index_numbers_below_the_minimum_are_rejected(value: int) -> None:
    assert Hnsw(1, value, value).check() == [
        "n_links: got 1, expected at least 2",
        f"ef_construction: got {value}, expected at least 1",
        f"ef_search: got {value}, expected at least 1",
    ]
    assert IvfPq(value, value, value, value).check() == [
        f"{name}: got {value}, expected at least 1" for name in ("n_lists", "n_subvectors", "n_bits", "n_probes")
    ]
