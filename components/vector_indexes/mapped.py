"""Arrays in files that need not fit into memory.

Vectors are read in blocks. An index writes its arrays to separate files, and reads them by memory map.
"""

import mmap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import StoreError
from components.loading import loading

T = TypeVar("T", bound=np.generic)


ROWS_AT_ONCE = 65_536
"""Rows per block: a multiple of the 1,024 that FAISS multiplies in one step, so that blocks change no sum."""

_SCATTERED_AT_ONCE = 512


def row_blocks(rows: NDArray[T]) -> Iterator[NDArray[T]]:
    """Yield the rows in blocks. Pages of a mapped file are released when the next block is requested."""
    for first in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[first : first + ROWS_AT_ONCE]
        release(rows)


def read_rows_in_blocks(rows: NDArray[T], positions: NDArray[np.integer]) -> Iterator[NDArray[T]]:
    """Yield the rows at the given positions, in that order, in blocks.

    The rows of a block are read in file order: each read brings up to a megabyte into memory, which neighbouring reads
    then share. These pages are released soon.
    """
    for first in range(0, len(positions), ROWS_AT_ONCE):
        chosen = positions[first : first + ROWS_AT_ONCE]
        block = np.empty((len(chosen), *rows.shape[1:]), dtype=rows.dtype)
        order = np.argsort(chosen)
        for start in range(0, len(order), _SCATTERED_AT_ONCE):
            few = order[start : start + _SCATTERED_AT_ONCE]
            block[few] = rows[chosen[few]]
            release(rows)
        yield block


def release(array: NDArray[np.generic]) -> None:
    """Release the pages of a file that were read through an array.

    Until then they count as memory of the process, although the system could reclaim them. They are read again when
    needed.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and not array.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def write_rows(path: Path, blocks: Iterable[NDArray[np.float32]], n_dimensions: int) -> NDArray[np.float32]:
    """Write the rows of all blocks to a .npy file and map it, float32[n, n_dimensions].

    Raises StoreError if the file cannot be written.
    """
    n_rows = 0
    with _open_to_write(path) as file:
        _write_header(file, np.float32, (0, n_dimensions))
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=np.float32).data)
            n_rows += len(block)
        file.seek(0)
        _write_header(file, np.float32, (n_rows, n_dimensions))
    return _map(path)


def write_index(path: Path, index: Any) -> NDArray[np.uint8]:
    """Write a FAISS index to a .npy file in the format of `faiss.write_index`, and map it.

    Raises StoreError if the file cannot be written.
    """
    import faiss

    with _open_to_write(path) as file:
        _write_header(file, np.uint8, (0,))
        n_header = file.tell()
        writer = faiss.PyCallbackIOWriter(file.write)  # type: ignore[attr-defined]  # missing in its stubs
        faiss.write_index(index, writer)
        del writer  # flushes its buffer
        n_bytes = file.tell() - n_header
        file.seek(0)
        _write_header(file, np.uint8, (n_bytes,))
    return _map(path)


def open_index(array: NDArray[np.generic]) -> Any:
    """Return the FAISS index that `write_index` wrote.

    Its large parts stay in the array. If the array is mapped from a file, a search reads only the pages it needs.
    """
    with loading():
        import faiss

        data = np.ascontiguousarray(array)
        reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(data), data.size)  # type: ignore[attr-defined]  # see above
        index: Any = faiss.read_index(reader)
        index.referenced_objects = [data]  # FAISS's name for objects that must outlive the index
    return index


@contextmanager
def _open_to_write(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("wb") as file:
            yield file
    except OSError as error:
        raise StoreError(
            f"{path}: the index cannot be written ({error.strerror or error}). Free some space or make the folder "
            "writable, then run the same command again: finished work is cached."
        ) from error


def _write_header(file: BinaryIO, dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    """Write a header whose length does not depend on the number of rows: NumPy reserves space for it."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})


def _map(path: Path) -> NDArray[Any]:
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array
