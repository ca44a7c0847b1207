"""Files of lines that commands write for other programs."""

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from components.errors import DataError


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes the whole file or none of it: see `write_whole`. Raises DataError."""
    try:
        write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}). Choose another place.") from error


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file in one step: a reader never sees half of it, and where the disk is full the file before it stays.
    A link is replaced, not followed. Raises OSError.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Returns when the disk has a file, or the names in a folder. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
