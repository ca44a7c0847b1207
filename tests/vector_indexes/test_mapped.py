"""Arrays that indexes write into files: memory-mapped, and stored without a copy."""

import gc
from pathlib import Path

import faiss
import numpy as np
import pytest

from components.errors import StoreError
from components.vector_indexes import mapped
from components.vector_indexes.faiss_index import Hnsw
from components.vector_indexes.mapped import open_index, release, row_blocks, write_index, write_rows
from runner.engine.store import Store
from tests.contracts.vector_index_contract import random_vectors


def graph(n: int) -> faiss.Index:
    index = faiss.IndexHNSWFlat(32, 8, faiss.METRIC_INNER_PRODUCT)
    index.add(random_vectors(n))
    return index


@pytest.mark.parametrize("sizes", [(), (0,), (3,), (3, 0, 4)])
def test_rows_in_file_concatenate_the_blocks(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    blocks = [random_vectors(n, seed=i) for i, n in enumerate(sizes)]
    found = write_rows(tmp_path / "rows.npy", blocks, 32)
    assert isinstance(found, np.memmap)
    assert found.tobytes() == b"".join(block.tobytes() for block in blocks)
    assert (found.dtype, found.shape) == (np.float32, (sum(sizes), 32))


def test_mapped_faiss_index_stays_searchable_after_its_file_is_deleted(tmp_path: Path) -> None:
    index = graph(5000)
    array = write_index(tmp_path / "faiss.npy", index)
    assert isinstance(array, np.memmap)
    assert array.tobytes() == faiss.serialize_index(index).tobytes()
    again = open_index(array)
    del array
    (tmp_path / "faiss.npy").unlink()  # the store was pruned, but a mapped array stays readable
    gc.collect()
    queries = random_vectors(5, seed=1)
    for found, expected in zip(again.search(queries, 10), index.search(queries, 10), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_large_parts_of_an_index_are_not_copied(tmp_path: Path) -> None:
    """Vectors that change in the file change in the index."""
    array = write_index(tmp_path / "faiss.npy", graph(100))
    vectors = random_vectors(100)
    first = bytes(array).index(vectors.tobytes())
    writable = np.array(array)
    index = open_index(writable)
    writable[first : first + vectors.nbytes] = (2 * vectors).reshape(-1).view(np.uint8)
    score, _ = index.search(vectors[:1], 1)
    assert score[0, 0] == pytest.approx(2, abs=1e-5)


def test_store_keeps_the_faiss_file_without_a_copy(tmp_path: Path) -> None:
    store = Store(tmp_path)
    place = store.workspace("f" * 64)
    built = Hnsw().build(random_vectors(300), place)
    entry = store.write("vector_index", "f" * 64, built, seconds=0.0, made_from={})
    assert (entry.folder / "faiss.npy").samefile(place / "faiss.npy")


def resident(kind: str) -> int:
    """Bytes of this process's memory: "RssAnon" or "RssFile"."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(kind))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
def test_rows_of_a_file_leave_the_memory_with_the_next_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 1024)
    np.save(tmp_path / "rows.npy", np.ones((16 * 1024, 512), dtype=np.float32))  # 32 MiB
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    before, most = resident("RssFile"), 0
    for block in row_blocks(rows):
        assert block.sum() == block.size
        most = max(most, resident("RssFile") - before)
    assert most < 8 << 20
    assert rows.sum() == rows.size  # and can be read again
    assert resident("RssFile") - before > 24 << 20


def test_arrays_in_memory_are_not_released(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.ones(1 << 20, dtype=np.float32))
    copied_on_write = np.load(tmp_path / "rows.npy", mmap_mode="c")
    copied_on_write += 1
    release(copied_on_write)
    assert copied_on_write.min() == 2


def test_disk_error_during_an_index_write_is_reported(tmp_path: Path) -> None:
    (tmp_path / "full.npy").symlink_to("/dev/full")
    for write in (
        lambda path: write_rows(path, [random_vectors(1000)] * 9, 32),
        lambda path: write_index(path, graph(9000)),
    ):
        with pytest.raises(StoreError, match=r"the index cannot be written \(No space left on device\)"):
            write(tmp_path / "full.npy")
