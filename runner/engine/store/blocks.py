"""Blocks: files that are kept before their stage ends, each whole or not at all, under a name that holds its checksum.

What cannot be read, or is not what was written, counts as absent and is removed: it is made again.
"""

import logging
import uuid
from collections.abc import Iterator
from pathlib import Path

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


def read_blocks(folder: Path, name: str) -> Iterator[Part]:
    """All sound blocks of that name: blocks of different contents may share one."""
    for path in sorted(folder.glob(f"{name}.*.*")):
        if _is_sound(path):
            yield read_part(path)
        else:
            log.warning("%s: does not match its checksum or cannot be read; what it held is made again", path)
            path.unlink(missing_ok=True)


def damaged_blocks(folder: Path) -> list[Path]:
    """All in a folder and those below it that do not match their checksums."""
    return [path for path in sorted(folder.glob("**/[!.]*.*.*")) if not _is_sound(path)]


def _is_sound(path: Path) -> bool:
    try:
        return path.name.split(".")[-2] == checksum(path)
    except OSError:  # a disk that does not read, or a block that was pruned in this moment
        return False
