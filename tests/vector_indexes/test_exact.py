"""The device of an exact search. Without a GPU, a fake tests the choice and the sizes of blocks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

from components.errors import ComponentError
from components.vector_indexes import exact, mapped
from components.vector_indexes.exact import Device, block_limits, nearest
from components.vector_indexes.faiss_index import Flat
from components.vector_indexes.truncated import Truncated
from runner.engine.identity import describe
from tests.contracts.vector_index_contract import built, random_vectors
from tests.vector_indexes.clusters import round_to_grid

GIB = 2**30
VECTORS, QUERIES = random_vectors(300), random_vectors(7, seed=1)


class Resources:
    """Resources of FAISS on a GPU."""

    def setTempMemory(self, n_bytes: int) -> None:  # noqa: N802 - FAISS's name
        assert n_bytes == GIB // 2


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Fake a machine with a GPU with 8 GiB of free memory; return the limits of every search."""
    made: list[dict[str, Any]] = []

    def knn_gpu(resources: Resources, queries: Any, vectors: Any, k: int, **options: Any) -> Any:
        assert isinstance(resources, Resources)
        made.append(options)
        return faiss.knn(queries, vectors, k, metric=options["metric"])

    monkeypatch.setattr(exact, "n_gpus", lambda: 1)
    monkeypatch.setattr(exact, "free_gpu_bytes", lambda: 8 * GIB)
    monkeypatch.setattr(faiss, "StandardGpuResources", Resources, raising=False)
    monkeypatch.setattr(faiss, "knn_gpu", knn_gpu)
    return made


@pytest.mark.parametrize(("device", "n_on_gpu"), [(Device.AUTO, 1), (Device.GPU, 1), (Device.CPU, 0)])
def test_flat_search_uses_the_gpu_only_if_requested(
    searches: list[dict[str, Any]], device: Device, n_on_gpu: int
) -> None:
    found = Flat(device).search({}, VECTORS, QUERIES, 20)
    np.testing.assert_array_equal(found.chunk, Flat(Device.CPU).search({}, VECTORS, QUERIES, 20).chunk)
    assert len(searches) == n_on_gpu
    assert all((made["vectorsMemoryLimit"], made["queriesMemoryLimit"]) == (0, 0) for made in searches)


def test_first_stage_of_truncated_vectors_uses_a_gpu(searches: list[dict[str, Any]]) -> None:
    index = Truncated(16, device=Device.GPU)
    index.search(built(index, VECTORS), VECTORS, QUERIES, 5)
    assert len(searches) == 1


def test_vectors_beyond_gpu_memory_are_copied_in_blocks(
    searches: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "_MIN_BYTES", 1)
    monkeypatch.setattr(exact, "free_gpu_bytes", lambda: exact._RESERVED + VECTORS.nbytes // 2)
    nearest(QUERIES, VECTORS, 10, Device.GPU)
    (made,) = searches
    assert 0 < made["vectorsMemoryLimit"] < VECTORS.nbytes
    assert made["vectorsMemoryLimit"] + made["queriesMemoryLimit"] == VECTORS.nbytes // 2


@pytest.mark.parametrize(
    ("vectors", "queries", "free", "limits"), [(6, 2, 8, (0, 0)), (7, 2, 8, (6, 2)), (100, 1, 9, (7, 2))]
)
def test_block_limits_follow_free_memory(vectors: int, queries: int, free: int, limits: tuple[int, int]) -> None:
    assert block_limits(vectors, queries, free) == limits


@pytest.mark.parametrize(
    ("free", "n", "said"),
    [
        (GIB, 10, r"1\.0 GiB of its memory is free, but 1\.75 GiB is needed"),
        (8 * GIB, 2049, "the search needs 2,049 hits per query, and a GPU supports 2,048"),
    ],
)
@pytest.mark.usefixtures("searches")
def test_search_impossible_on_a_gpu_runs_on_the_cpu_or_fails(
    searches: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, free: int, n: int, said: str
) -> None:
    monkeypatch.setattr(exact, "free_gpu_bytes", lambda: free)
    vectors = random_vectors(3000, 4)
    queries = random_vectors(2, 4)
    with pytest.raises(ComponentError, match=f"device: got gpu, but {said}"):
        nearest(queries, vectors, n, Device.GPU)
    expected = nearest(queries, vectors, n, Device.CPU)
    for found, wanted in zip(nearest(queries, vectors, n, Device.AUTO), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert searches == []


def test_unusable_cuda_library_falls_back_to_the_cpu_or_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(exact, "n_gpus", lambda: 1)
    monkeypatch.setattr(exact.ctypes, "CDLL", no_library)
    with pytest.raises(ComponentError, match=r"CUDA does not report its free memory \(libcudart.so.12: cannot open"):
        nearest(QUERIES, VECTORS, 5, Device.GPU)
    assert nearest(QUERIES, VECTORS, 5, Device.AUTO)[1].shape == (7, 5)


def test_missing_gpu_is_an_error_only_if_one_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "n_gpus", lambda: 0)
    with pytest.raises(
        ComponentError, match=r"FAISS finds no GPU here: expected faiss-gpu-cu12 .*uninstall -y faiss-cpu"
    ):
        nearest(QUERIES, VECTORS, 5, Device.GPU)
    assert nearest(QUERIES, VECTORS, 5, Device.AUTO)[1].shape == (7, 5)


def test_faiss_without_gpu_support_is_an_error_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "packages_distributions", lambda: {"faiss": ["faiss-cpu"]})
    for index in (Flat(Device.GPU), Truncated(device=Device.GPU)):
        (problem,) = index.check()
        assert problem.startswith("device: got gpu, but the installed FAISS is faiss-cpu, expected faiss-gpu-cu12")
    assert Flat(Device.AUTO).check() == []
    monkeypatch.setattr(exact, "packages_distributions", lambda: {"faiss": ["faiss-gpu-cu12"]})
    assert Flat(Device.GPU).check() == []


def test_vectors_in_a_file_are_read_in_blocks_with_equal_hits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    vectors = round_to_grid(random_vectors(5000))
    vectors[[17, 1023, 1024, 3000, 4999]] = vectors[2]
    np.save(tmp_path / "vectors.npy", vectors)
    on_disk = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    queries = np.concatenate([vectors[2:3], round_to_grid(random_vectors(30, seed=1))])
    whole = Flat(Device.CPU).search({}, vectors, queries, 200)
    monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 1024)
    monkeypatch.setattr(exact, "_QUERIES_AT_ONCE", 25)
    found = Flat(Device.CPU).search({}, on_disk, queries, 200)
    assert found.chunk[0, :6].tolist() == [2, 17, 1023, 1024, 3000, 4999]
    np.testing.assert_array_equal(found.chunk, whole.chunk)
    np.testing.assert_array_equal(found.score, whole.score)


def test_search_device_changes_no_key() -> None:
    assert describe(Flat(Device.GPU)) == describe(Flat(Device.CPU))


@pytest.mark.gpu
def test_gpu_search_equals_cpu_search_at_once_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    if not exact.n_gpus():
        pytest.skip("FAISS finds no GPU")
    vectors, queries = random_vectors(20_000, 256), random_vectors(50, 256, seed=1)
    vectors[[17, 4000, 19_000]] = vectors[5]
    queries[0] = vectors[5]
    expected = Flat(Device.CPU).search({}, vectors, queries, 100)
    for free in (exact.free_gpu_bytes(), exact._RESERVED + vectors.nbytes // 3):
        monkeypatch.setattr(exact, "_MIN_BYTES", 1)
        monkeypatch.setattr(exact, "free_gpu_bytes", lambda free=free: free)
        found = Flat(Device.GPU).search({}, vectors, queries, 100)
        assert found.chunk[0, :4].tolist() == [5, 17, 4000, 19_000]
        np.testing.assert_array_equal(found.chunk[:, :50], expected.chunk[:, :50])
        np.testing.assert_allclose(found.score, expected.score, atol=1e-5)
