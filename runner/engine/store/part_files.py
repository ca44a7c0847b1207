"""Files for the parts of a stage's result: arrays, tables, JSON and raw bytes. Nothing is ever unpickled."""

import errno
import hashlib
import json
import mmap
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from components.errors import StoreError

if sys.platform != "win32":
    import resource

Part = Any
"""A NumPy array, a PyArrow table, bytes, or a JSON value.

A RecordBatchReader is a table that is written batch by batch. The name of a part in bytes includes the file suffix.
"""


def file_name(name: str, value: Part) -> str:
    """Return the name of the file that holds a part."""
    if isinstance(value, np.ndarray):
        return f"{name}.npy"
    if isinstance(value, pa.Table | pa.RecordBatchReader):
        return f"{name}.parquet"
    return name if isinstance(value, bytes) else f"{name}.json"


def write_part(path: Path, value: Part) -> None:
    """Write one part. JSON has sorted keys and no NaN, so that equal values give equal bytes. Pages of tables
    have checksums, because links of results outside the store are read without the manifest.

    Raises OSError if the file cannot be written, and TypeError or ValueError for a value without a file format.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            "got a masked array, whose mask cannot be stored, expected a plain array. Call .filled(0) first."
        )
    if isinstance(value, np.ndarray):
        np.save(path, value, allow_pickle=False)
    elif isinstance(value, pa.Table):
        pq.write_table(value, path, compression="zstd", write_page_checksum=True)
    elif isinstance(value, pa.RecordBatchReader):
        with pq.ParquetWriter(path, value.schema, compression="zstd", write_page_checksum=True) as file:
            for batch in value:  # each batch becomes a row group
                file.write_batch(batch)
    elif isinstance(value, bytes):
        path.write_bytes(value)
    else:
        # One call: json.dump to a file, or any indent, takes the slow Python encoder.
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":"))
        path.write_text(text + "\n", encoding="utf-8")


def mapped_file(value: Part) -> Path | None:
    """Return the .npy file that the array maps as a whole. None for any other value, such as a slice of such an
    array.
    """
    base: object = getattr(value, "base", None)
    if not isinstance(value, np.memmap) or not isinstance(base, mmap.mmap):
        return None
    file = Path(value.filename or "")
    is_whole = file.suffix == ".npy" and file.is_file() and file.stat().st_size == value.offset + value.nbytes
    return file if is_whole else None


READING_ERRORS = (OSError, ValueError, EOFError, RecursionError, pa.ArrowException)
"""Errors raised by reading a file that is not a part."""

DECODING_ERRORS = (AttributeError, LookupError, TypeError, ValueError, pa.ArrowException)
"""Errors raised by decoding parts of another result."""


def read_part(path: Path) -> Part:
    """Read one part according to the suffix of its file. Arrays are read-only, and large ones are memory-mapped."""
    if path.suffix == ".npy":
        return read_only(np.load(path, mmap_mode="r" if path.stat().st_size > 1 << 20 else None, allow_pickle=False))
    if path.suffix == ".parquet":
        return read_table(path)
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    return path.read_bytes()


def read_only(value: Part) -> Part:
    """Return a part. An array becomes read-only, because other stages read the same one."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    return value


def read_table(path: Path) -> pa.Table:
    """Read a whole Parquet file in this thread.

    The threads of `pq.read_table` cost more than they save on files of this size, and a process that ends while one of
    them runs is aborted.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        return file.read(use_threads=False)


def part_name(file: str) -> str:
    """Return the name of the part in a file: the file name without the suffix that `file_name` added."""
    path = Path(file)
    return path.stem if path.suffix in (".npy", ".parquet", ".json") else file


def checksum(path: Path) -> str:
    """Return the SHA-256 (hex) of a file. Raises OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_size_is_limited() -> bool:
    if sys.platform == "win32":
        return False
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY


@contextmanager
def storage_errors(what: str, path: Path) -> Iterator[None]:
    """Turn an OSError while writing `what` into a StoreError with the reason and the remedy.

    The sweep must then stop, because later results could not be stored either.
    """
    try:
        yield
    except OSError as error:
        # NumPy reports a full disk as "19884 requested and 11232 written", without a number.
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT) or "written" in str(error)
        why = "the disk is full" if is_full else str(error.strerror or error)
        remedy = "Free some space" if is_full else "Make sure that the folder exists and is writable"
        if error.errno == errno.EFBIG or (error.errno is None and is_full and _file_size_is_limited()):
            why = "a file would exceed the size that this process may write"
            remedy = "Raise the file size limit (ulimit -f unlimited, or the limit of the batch system)"
        if error.errno in (errno.EMFILE, errno.ENFILE):
            remedy = "Raise the limit of open files (ulimit -n), or lower the concurrency of models behind servers"
        if isinstance(error, PermissionError):
            refused = Path(error.filename2 or error.filename or path)
            why, remedy = f"{refused}: {why}", permission_advice(refused.parent)
        if "not enough memory" in why:  # Arrow says so when it compresses
            remedy = "Give the process more memory, or run fewer stages in parallel (run.workers=1)"
        raise StoreError(
            f"{path}: cannot write {what}: {why}. {remedy}, then run the same command again: finished work is cached."
        ) from error


def permission_advice(folder: Path) -> str:
    """Return advice about a folder that another user may have created without access for others."""
    command = f"chmod -R g+rwX {shlex.quote(str(folder))}"
    return f"Make it accessible ({command} by the user who created it, whose umask must be 002)"
