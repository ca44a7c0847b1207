"""A checksum as the last field of a JSON file: a changed byte is an error instead of another number."""

import hashlib
import os
import re
from pathlib import Path

from components.errors import DataError
from components.json_value import Json

_SEALED = re.compile(rb'(.*),\n *"checksum": "([0-9a-f]*)"\n}\n', re.DOTALL)
"""The bytes that the checksum covers, and the checksum."""


def seal_json(text: str) -> bytes:
    """Return the JSON of an object, which ends with a line for its brace, with a last field `checksum`.

    It is the SHA-256 of the bytes before it.
    """
    content = text.removesuffix("\n}\n").encode("utf-8")
    return content + f',\n"checksum": "{hashlib.sha256(content).hexdigest()}"\n}}\n'.encode()


_MAX_BYTES = 2**29
"""Maximum bytes of a file with results or progress. A larger file was written by something else."""


def read_content(path: Path) -> bytes:
    """Return the bytes of a file. Raises ValueError for anything but a regular file, and for one that is too long.

    Reading a FIFO would wait for a writer, and a device or a sparse file may have no end.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    with path.open("rb") as file:
        content = file.read(min(os.fstat(file.fileno()).st_size, _MAX_BYTES) + 1)  # `read` reserves these bytes
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it is longer than {_MAX_BYTES:,} bytes")
    return content


def pop_checksum(raw: dict[str, Json], content: bytes, path: Path, advice: str) -> None:
    """Remove the checksum from an object that was read from the bytes of a file.

    Files of earlier versions have none. Raises DataError, with the advice, if the file was changed.
    """
    if "checksum" not in raw:
        return
    del raw["checksum"]
    parts = _SEALED.fullmatch(content)
    if parts is None or hashlib.sha256(parts[1]).hexdigest() != parts[2].decode():
        raise DataError(f"{path}: the file was changed after it was written (its checksum differs). {advice}")
