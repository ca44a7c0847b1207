"""Files of lines that commands write for other programs."""

import os
from collections.abc import Iterable
from pathlib import Path

from components.errors import DataError


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes the whole file or none of it: a reader never sees half of one. Raises DataError."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}). Choose another place.") from error


def sync(path: Path) -> None:
    """Returns when the disk has a file, or the names in a folder. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
