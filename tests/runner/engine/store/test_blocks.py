import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from components.errors import StoreError
from runner.engine.store import part_files as files
from runner.engine.store.stored_blocks import join_blocks, read_block, read_blocks, scatter_blocks, write_block

VALUE = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_written_score_block_is_read(tmp_path: Path) -> None:
    assert read_block(tmp_path / "none", "0-2") is None
    path = write_block(tmp_path, "0-2", VALUE)
    np.testing.assert_array_equal(read_block(tmp_path, "0-2"), VALUE)
    assert read_block(tmp_path, "0-20") is None
    assert list(tmp_path.iterdir()) == [path]


def test_equal_blocks_are_stored_once_and_different_blocks_separately(tmp_path: Path) -> None:
    for value in (VALUE, VALUE, VALUE + 1):
        write_block(tmp_path, "scores", value)
    assert sorted(block[0, 0] for block in read_blocks(tmp_path, "scores")) == [0, 1]


@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[:-1], lambda content: content[:-4] + bytes(4)],
    ids=["empty", "cut off", "zeros behind the header"],
)
def test_damaged_block_is_removed_with_a_warning(
    tmp_path: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    path = write_block(tmp_path, "0-2", VALUE)
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert read_block(tmp_path, "0-2") is None
    assert str(path) in caplog.text
    assert not path.exists()


def test_block_is_synced_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names_at_sync: list[list[str]] = []
    sync = os.fsync

    def note_and_sync(descriptor: int) -> None:
        names_at_sync.append([path.name for path in tmp_path.glob("[!.]*")])
        sync(descriptor)

    monkeypatch.setattr("os.fsync", note_and_sync)
    write_block(tmp_path, "0-2", VALUE)
    assert names_at_sync == [[]]


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), OSError("19884 requested and 11232 written")],
    ids=["the system's", "NumPy's"],
)
def test_full_disk_during_a_block_write_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(files.np, "save", no_space)
    with pytest.raises(StoreError, match="the disk is full"):
        write_block(tmp_path, "0-2", VALUE)
    assert list(tmp_path.iterdir()) == []


class TestJoined:
    def join(self, path: Path, values: list[np.ndarray]) -> np.ndarray:
        return join_blocks(path, values)

    def scatter(self, path: Path, values: list[np.ndarray]) -> np.ndarray:
        rows = np.arange(sum(map(len, values)), dtype=np.int32)
        ends = np.cumsum([len(value) for value in values])
        return scatter_blocks(path, len(rows), zip(np.split(rows, ends[:-1]), values, strict=True))

    @pytest.mark.parametrize("how", ["join", "scatter"])
    def test_mapped_file_is_unchanged_when_another_process_rewrites_the_path(self, tmp_path: Path, how: str) -> None:
        path, linked = tmp_path / "vectors.npy", tmp_path / "kept.npy"
        first = getattr(self, how)(path, [VALUE, VALUE])
        os.link(path, linked)  # the store links it too
        second = getattr(self, how)(path, [VALUE + 1])
        np.testing.assert_array_equal(first, np.concatenate([VALUE, VALUE]))
        np.testing.assert_array_equal(np.load(linked), np.concatenate([VALUE, VALUE]))
        np.testing.assert_array_equal(second, VALUE + 1)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["kept.npy", "vectors.npy"]
