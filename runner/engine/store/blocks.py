"""Blocks: files that are kept before their stage ends, each whole or not at all, under a name that holds its checksum.

What cannot be read, or is not what was written, counts as absent and is removed: it is made again.
"""

import fnmatch
import logging
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from runner.engine.store.files import Part, checksum, file_name, keeping, read_part, sync, write_part

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

    Written and not mapped: a full disk is an error then, where a mapped page that finds no room kills the process.
    """
    n_rows, row = sum(map(len, blocks)), blocks[0].shape[1:]
    descr = np.lib.format.dtype_to_descr(blocks[0].dtype)
    with _unfinished(path) as file:
        np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": (n_rows, *row)})
        for block in blocks:
            file.write(np.ascontiguousarray(block).data)
    return _mapped(path)


def scattered_blocks(path: Path, n_rows: int, blocks: Iterable[tuple[NDArray[np.int32], NDArray[Any]]]) -> NDArray[Any]:
    """As `joined_blocks`, of blocks whose rows are not in a row: each comes with where its rows are, ascending, among
    `n_rows`. Raises StoreError.
    """
    is_begun = False
    with _unfinished(path) as file:
        for rows, block in blocks:
            width = block.dtype.itemsize * int(np.prod(block.shape[1:]))
            if not is_begun:
                descr = np.lib.format.dtype_to_descr(block.dtype)
                header = {"descr": descr, "fortran_order": False, "shape": (n_rows, *block.shape[1:])}
                np.lib.format.write_array_header_1_0(file, header)
                first, is_begun = file.tell(), True
            # Runs of rows in a row are written at once.
            for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows) != 1) + 1):
                if len(run):
                    file.seek(first + int(rows[run[0]]) * width)
                    file.write(np.ascontiguousarray(block[run[0] : run[-1] + 1]).data)
    return _mapped(path)


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


def _mapped(path: Path) -> NDArray[Any]:
    with keeping("half-done work", path.parent):
        whole: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return whole


def damaged_blocks(folder: Path) -> list[Path]:
    """All in a folder and those below it that do not match their checksums; those that go meanwhile are not damaged."""
    paths = sorted(
        Path(parent, name) for parent, _, names in os.walk(folder) for name in fnmatch.filter(names, "[!.]*.*.*")
    )
    return [path for path in paths if not _is_sound(path) and path.exists()]


def _is_sound(path: Path) -> bool:
    try:
        return path.name.split(".")[-2] == checksum(path)
    except OSError:  # a disk that does not read, or a block that was pruned in this moment
        return False
