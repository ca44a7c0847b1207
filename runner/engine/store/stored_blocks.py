"""Blocks: files that are kept before their stage ends, each whole or not at all, under a name that holds its checksum.

What cannot be read, or is not what was written, counts as absent and is removed: it is made again.
"""

import fnmatch
import logging
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from runner.console.written_files import sync
from runner.engine.store.part_files import Part, checksum, file_name, keeping, read_part, write_part

log = logging.getLogger(__name__)


def write_block(folder: Path, name: str, value: Part) -> Path:
    """Writes one block, and returns where it lies. The disk has it before it gets its name. Raises StoreError."""
    suffix = Path(file_name(name, value)).suffix
    temporary = folder / f".{uuid.uuid4().hex}{suffix}"
    with keeping("half-done work", folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            write_part(temporary, value)
            sync(temporary)
            return temporary.replace(folder / f"{name}.{checksum(temporary)}{suffix}")
        finally:
            temporary.unlink(missing_ok=True)  # gone already if it got its name


def read_block(folder: Path, name: str) -> Part | None:
    """The block of that name; None without a sound one."""
    return next(read_blocks(folder, name), None)


def has_block(folder: Path, name: str) -> bool:
    """Whether there is one of that name, sound or not."""
    return any(folder.glob(f"{name}.*.*"))


def read_blocks(folder: Path, name: str) -> Iterator[Part]:
    """All sound blocks of that name: blocks of different contents may share one."""
    for path in sorted(folder.glob(f"{name}.*.*")):
        if _is_sound(path):
            yield read_part(path)
        else:
            log.warning("%s: does not match its checksum or cannot be read; what it held is made again", path)
            path.unlink(missing_ok=True)


def joined_blocks(path: Path, blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of one type and row length in one file, memory-mapped: the whole is never held in memory. Raises
    StoreError.
    """
    firsts = accumulate(map(len, blocks), initial=0)
    return _in_one_file(path, sum(map(len, blocks)), zip(firsts, blocks, strict=False))


def scattered_blocks(path: Path, n_rows: int, blocks: Iterable[tuple[NDArray[np.int32], NDArray[Any]]]) -> NDArray[Any]:
    """As `joined_blocks`, of blocks whose rows are not in a row: each comes with where its rows are, ascending, among
    `n_rows`, of which there is one at least. Raises StoreError.
    """
    return _in_one_file(path, n_rows, (run for rows, block in blocks for run in _runs(rows, block)))


def _runs(rows: NDArray[np.int32], block: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """What is in a row, and where that begins."""
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1).tolist()
    for first, last in pairwise([*starts, len(rows)]):
        yield int(rows[first]), block[first:last]


def _in_one_file(path: Path, n_rows: int, runs: Iterable[tuple[int, NDArray[Any]]]) -> NDArray[Any]:
    """Runs of rows, each with where it begins. Written and not mapped: a full disk is an error then, where a mapped
    page that finds no room kills the process.
    """
    with _unfinished(path) as file:
        begin = 0
        for first, rows in runs:
            if not begin:
                descr, shape = np.lib.format.dtype_to_descr(rows.dtype), (n_rows, *rows.shape[1:])
                header = {"descr": descr, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                begin = file.tell()
            file.seek(begin + first * rows.dtype.itemsize * math.prod(rows.shape[1:]))
            file.write(np.ascontiguousarray(rows).data)
    with keeping("half-done work", path.parent):
        whole: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return whole


@contextmanager
def _unfinished(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name when it is whole: another process may have mapped the one of that name, or linked it
    into the store, if both make one result.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    with keeping("half-done work", path.parent):
        try:
            with temporary.open("wb") as file:
                yield file
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def damaged_blocks(folder: Path) -> list[Path]:
    """All in a folder and those below it that do not match their checksums; those that go meanwhile are not damaged.
    Links are left out: blocks are files.
    """
    paths = sorted(
        Path(parent, name) for parent, _, names in os.walk(folder) for name in fnmatch.filter(names, "[!.]*.*.*")
    )
    return [path for path in paths if not path.is_symlink() and not _is_sound(path) and path.exists()]


def _is_sound(path: Path) -> bool:
    try:
        return path.name.split(".")[-2] == checksum(path)
    except OSError:  # a disk that does not read, or a block that was pruned in this moment
        return False
