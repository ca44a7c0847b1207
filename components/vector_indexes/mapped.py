"""Arrays in files that are never in memory as a whole: vectors are gone through block by block, and what an index makes
of them is written into files of its own and read by memory map.
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
"""Of a block: a multiple of the 1,024 that FAISS multiplies at a time, so that blocks change no sum."""

_SCATTERED_AT_ONCE = 512


def row_blocks(rows: NDArray[T]) -> Iterator[NDArray[T]]:
    """The rows, some at a time. Those that are mapped from a file leave the memory when the next are asked for."""
    for first in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[first : first + ROWS_AT_ONCE]
        release(rows)


def taken(rows: NDArray[T], positions: NDArray[np.integer]) -> Iterator[NDArray[T]]:
    """The rows at some positions, in that order and some at a time.

    Those of a block are read as they come in the file: each brings up to a megabyte around it into memory, most of
    which is then the same, and leaves it soon.
    """
    for first in range(0, len(positions), ROWS_AT_ONCE):
        wanted = positions[first : first + ROWS_AT_ONCE]
        block = np.empty((len(wanted), *rows.shape[1:]), dtype=rows.dtype)
        order = np.argsort(wanted)
        for start in range(0, len(order), _SCATTERED_AT_ONCE):
            few = order[start : start + _SCATTERED_AT_ONCE]
            block[few] = rows[wanted[few]]
            release(rows)
        yield block


def release(array: NDArray[Any]) -> None:
    """Lets go of the pages of a file that were read through an array. They count as memory of the process until then,
    although the system could have them back at any time, and are read again when they are wanted.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and not array.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def rows_in_file(path: Path, blocks: Iterable[NDArray[np.float32]], n_dimensions: int) -> NDArray[np.float32]:
    """The rows of all blocks, float32[n, n_dimensions], in a .npy file. Raises StoreError if the disk refuses."""
    n_rows = 0
    with _written(path) as file:
        _write_header(file, np.float32, (0, n_dimensions))
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=np.float32).data)
            n_rows += len(block)
        file.seek(0)
        _write_header(file, np.float32, (n_rows, n_dimensions))
    return _mapped(path)


def index_in_file(path: Path, index: Any) -> NDArray[np.uint8]:
    """An index of FAISS, as `faiss.write_index` writes it, in a .npy file: an array that is kept like any other.
    Raises StoreError if the disk refuses.
    """
    import faiss

    with _written(path) as file:
        _write_header(file, np.uint8, (0,))
        n_header = file.tell()
        writer = faiss.PyCallbackIOWriter(file.write)  # type: ignore[attr-defined]  # missing in its stubs
        faiss.write_index(index, writer)
        del writer  # which writes what it still holds
        n_bytes = file.tell() - n_header
        file.seek(0)
        _write_header(file, np.uint8, (n_bytes,))
    return _mapped(path)


def index_over(array: NDArray[Any]) -> Any:
    """The index of FAISS that `index_in_file` wrote. Its large parts stay in the array: of one that is mapped from a
    file, a search reads the pages that it needs.
    """
    with loading():
        import faiss

        data = np.ascontiguousarray(array)
        reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(data), data.size)  # type: ignore[attr-defined]  # likewise
        index: Any = faiss.read_index(reader)
        index.referenced_objects = [data]  # FAISS's own name for what must live as long as an index
    return index


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("wb") as file:
            yield file
    except OSError as error:
        raise StoreError(
            f"{path}: the index cannot be written: {error.strerror or error}. Free some space or see that the folder "
            "is writable, then give the same command again: finished stages are kept"
        ) from error


def _write_header(file: BinaryIO, dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    """Of the same length whatever the number of rows: NumPy leaves room for it to grow."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})


def _mapped(path: Path) -> NDArray[Any]:
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array
