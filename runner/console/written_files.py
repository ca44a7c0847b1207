"""Writes files for other programs."""

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from components.errors import DataError


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file that a user named: see `write_text`. Raises DataError if it cannot be written."""
    write_text(path, "".join(f"{line}\n" for line in lines))


def write_text(path: Path, text: str) -> None:
    """Write a file that a user named: all of it or nothing. The target of a link, or a device such as /dev/stdout, is
    written in place.

    Raises DataError if the file cannot be written.
    """
    try:
        is_elsewhere = path.is_symlink() or (path.exists() and not path.is_file())
        (Path.write_bytes if is_elsewhere else write_whole)(path, text.encode())
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error}). Choose another path.") from error


def require_other_files(inputs: Iterable[Path], *outputs: Path | None) -> None:
    """Raise DataError for an output that would overwrite an input or another output. None stands for no output."""
    taken = {path.resolve() for path in inputs}
    for path in filter(None, outputs):
        if path.resolve() in taken:
            raise DataError(f"{path}: would overwrite another file of this command. Choose another path.")
        taken.add(path.resolve())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: a reader never sees part of it, and on a full disk the previous file remains.

    A link is replaced, not followed. Raises OSError if the file cannot be written.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk.

    Raises OSError if it does not exist or the disk fails.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
