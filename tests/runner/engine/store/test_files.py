import errno
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from components.errors import StoreError
from runner.engine.store.part_files import (
    file_name,
    mapped_file,
    part_name,
    read_part,
    storage_errors,
    write_part,
)
from tests.runner.sweeping import REPOSITORY


def through_a_file(folder: Path, name: str, value: object) -> object:
    path = folder / file_name(name, value)
    write_part(path, value)
    return read_part(path)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.zeros(1), "part.npy"),
        (pa.table({"a": [1]}), "part.parquet"),
        ({"a": 1}, "part.json"),
        ([1, 2], "part.json"),
        (b"a", "part"),
    ],
    ids=["array", "table", "mapping", "list", "bytes"],
)
def test_file_suffix_encodes_the_kind_of_a_part(value: object, expected: str) -> None:
    assert file_name("part", value) == expected
    assert part_name(expected) == "part"


@pytest.mark.parametrize("name", ["matrix_ndcg@10.png", "matrix_mrr.csv", "error.txt"])
def test_bytes_part_keeps_its_file_suffix(name: str) -> None:
    assert part_name(file_name(name, b"")) == name


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.zeros((0, 4), dtype=np.float32),
        np.array([np.nan, -np.inf]),
        np.zeros(300_000),
    ],
    ids=["int32", "empty", "not_finite", "memory_mapped"],
)
def test_array_part_survives_a_round_trip(tmp_path: Path, array: np.ndarray) -> None:
    found = through_a_file(tmp_path, "array", array)
    assert isinstance(found, np.ndarray)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_large_arrays_are_not_read_into_memory(tmp_path: Path) -> None:
    assert isinstance(through_a_file(tmp_path, "array", np.zeros(300_000)), np.memmap)


class TestMappedFile:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        np.save(tmp_path / "array.npy", np.arange(12).reshape(4, 3))
        return tmp_path / "array.npy"

    def test_mapped_file_of_a_whole_array_is_its_file(self, file: Path) -> None:
        assert mapped_file(np.load(file, mmap_mode="r")) == file

    def test_views_of_a_mapped_array_are_not_mapped_files(self, file: Path) -> None:
        whole = np.load(file, mmap_mode="r")
        assert [mapped_file(view) for view in (whole[:2], whole[:], whole.T, np.array(whole), "text")] == [None] * 5


@pytest.mark.parametrize("n_rows", [0, 3, 200_000])
def test_table_part_survives_a_round_trip(tmp_path: Path, n_rows: int) -> None:
    table = pa.table({"text": pa.array([f"第{i}条" for i in range(n_rows)], pa.large_string()), "n": range(n_rows)})
    assert through_a_file(tmp_path, "table", table) == table


_COUNTING_THREADS = """
import os, sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from runner.engine.store.part_files import read_part, write_part
path = Path(sys.argv[1])
write_part(path, pa.table({"text": ["a"] * 1000, "n": range(1000)}))
before = len(os.listdir("/proc/self/task"))
read_part(path)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_reading_a_table_starts_no_thread(tmp_path: Path) -> None:
    """A process that ends while one of them still runs is aborted (exit code 134), after all of its work is done."""
    arguments = [sys.executable, "-c", _COUNTING_THREADS, str(tmp_path / "table.parquet")]
    done = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize("value", [{"b": [1, 2.5, None], "a": "砚"}, [], 3, "text", True])
def test_json_part_survives_a_round_trip(tmp_path: Path, value: object) -> None:
    assert through_a_file(tmp_path, "value", value) == value


def test_equal_json_parts_have_equal_bytes(tmp_path: Path) -> None:
    write_part(tmp_path / "one.json", {"a": 1, "b": 2})
    write_part(tmp_path / "two.json", {"b": 2, "a": 1})
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_bytes_part_survives_a_round_trip(tmp_path: Path) -> None:
    assert through_a_file(tmp_path, "picture.png", b"\x89PNG\x00") == b"\x89PNG\x00"


def test_nan_in_a_json_part_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_part(tmp_path / "value.json", {"a": float("nan")})


def test_object_arrays_are_not_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle=False"):
        write_part(tmp_path / "array.npy", np.array([{"an": "object"}], dtype=object))


def test_object_arrays_are_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.array([{"an": "object"}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_part(tmp_path / "array.npy")


def test_folder_closed_by_another_user_is_reported_with_a_remedy(tmp_path: Path) -> None:
    closed = tmp_path / "entries" / "chunks" / "aa"
    refused = PermissionError(errno.EACCES, "Permission denied", "here", None, str(closed / "aab"))
    with pytest.raises(StoreError) as said, storage_errors("a result", tmp_path):
        raise refused
    assert f"{tmp_path}: cannot write a result: {closed / 'aab'}: Permission denied. Make it" in str(said.value)
    assert f"(chmod -R g+rwX {closed} by the user who created it, whose umask must be 002), then" in str(said.value)
