"""Blocks: files that a stage stores before it ends. Each is complete, under a name that contains its checksum.

An unreadable or damaged block counts as missing and is removed: its content is computed again.
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
from typing import BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from runner.console.written_files import sync
from runner.engine.store.part_files import (
    Part,
    checksum,
    file_name,
    read_part,
    storage_errors,
    write_part,
)

D = TypeVar("D", bound=np.generic)

log = logging.getLogger(__name__)


def write_block(folder: Path, name: str, value: Part) -> Path:
    """Write one block and return its path. The disk is synced before the block gets its name.

    Raises StoreError if it cannot be written.
    """
    suffix = Path(file_name(name, value)).suffix
    temporary = folder / f".{uuid.uuid4().hex}{suffix}"
    with storage_errors("intermediate results", folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            write_part(temporary, value)
            sync(temporary)
            return temporary.replace(folder / f"{name}.{checksum(temporary)}{suffix}")
        finally:
            temporary.unlink(missing_ok=True)  # a renamed file no longer exists


def read_block(folder: Path, name: str) -> Part | None:
    """Return the block of that name. None if no undamaged block exists."""
    return next(read_blocks(folder, name), None)


def has_block(folder: Path, name: str) -> bool:
    """Return True if a block of that name exists, damaged or not."""
    return any(folder.glob(f"{name}.*.*"))


def read_blocks(folder: Path, name: str) -> Iterator[Part]:
    """Yield all undamaged blocks of that name. Blocks with different contents may share a name."""
    for path in sorted(folder.glob(f"{name}.*.*")):
        if _is_intact(path):
            yield read_part(path)
        else:
            log.warning("%s: does not match its checksum or cannot be read; its content is computed again", path)
            path.unlink(missing_ok=True)


def join_blocks(path: Path, blocks: Sequence[NDArray[D]]) -> NDArray[D]:
    """Join arrays of one type and row length in one file, and return it memory-mapped.

    Memory never holds the whole array. Raises StoreError if the file cannot be written.
    """
    firsts = accumulate(map(len, blocks), initial=0)
    return _write_array(path, sum(map(len, blocks)), zip(firsts, blocks, strict=False))


def scatter_blocks(path: Path, n_rows: int, blocks: Iterable[tuple[NDArray[np.int32], NDArray[D]]]) -> NDArray[D]:
    """Join blocks with rows from all over an array, as `join_blocks` does. Needs at least one row. Raises StoreError
    if the file cannot be written.

    Each block comes with the ascending positions of its rows among all `n_rows`.
    """
    return _write_array(path, n_rows, (run for rows, block in blocks for run in _runs(rows, block)))


def _runs(rows: NDArray[np.int32], block: NDArray[D]) -> Iterator[tuple[int, NDArray[D]]]:
    """Yield runs of contiguous rows, each with the position of its first row."""
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1).tolist()
    for first, last in pairwise([*starts, len(rows)]):
        yield int(rows[first]), block[first:last]


def _write_array(path: Path, n_rows: int, runs: Iterable[tuple[int, NDArray[D]]]) -> NDArray[D]:
    """Write runs of rows to one file, each at the position of its first row, and map the file.

    Rows are written, not assigned to a memory map. A full disk then raises an error; a mapped page without room would
    kill the process.
    """
    with _replacing(path) as file:
        begin = 0
        for first, rows in runs:
            if not begin:
                descr, shape = np.lib.format.dtype_to_descr(rows.dtype), (n_rows, *rows.shape[1:])
                header = {"descr": descr, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                begin = file.tell()
            file.seek(begin + first * rows.dtype.itemsize * math.prod(rows.shape[1:]))
            file.write(np.ascontiguousarray(rows).data)
    with storage_errors("intermediate results", path.parent):
        whole: NDArray[D] = np.load(path, mmap_mode="r", allow_pickle=False)
        return whole


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that is renamed to `path` when it is complete.

    Another process that computes the same result may have mapped the file at `path`, or linked it into the store.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    with storage_errors("intermediate results", path.parent):
        try:
            with temporary.open("wb") as file:
                yield file
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def damaged_blocks(folder: Path) -> list[Path]:
    """Return all blocks in a folder and its subfolders that do not match their checksums.

    Skips links, because blocks are files, and blocks that disappear during the check.
    """
    paths = sorted(
        Path(parent, name) for parent, _, names in os.walk(folder) for name in fnmatch.filter(names, "[!.]*.*.*")
    )
    return [path for path in paths if not path.is_symlink() and not _is_intact(path) and path.exists()]


def _is_intact(path: Path) -> bool:
    try:
        return path.is_file() and path.name.split(".")[-2] == checksum(path)
    except OSError:  # a read error of the disk, or the block has just been pruned
        return False
