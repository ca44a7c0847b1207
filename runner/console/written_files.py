"""Writes files for other programs."""

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from components.errors import DataError


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file atomically: see `write_whole`. Raises DataError."""
    try:
        write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}). Choose another path.") from error


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: a reader never sees part of it, and on a full disk the previous file remains.

    A link is replaced, not followed. Raises OSError.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
