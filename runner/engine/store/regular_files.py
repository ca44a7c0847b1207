"""Reading of files that another user may have written. Refuses pipes, devices and folders, and limits the size."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from components.errors import StoreError

_REMEDY = "Remove it, or choose another run.store_dir."


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. Raises StoreError for anything but a regular file, and OSError if it cannot be opened.

    Reading a FIFO would wait for a writer, and a device has no end.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path}: is not a regular file, so it is not part of a store. {_REMEDY}")
    return os.fdopen(descriptor, "rb")


def read_small(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file.

    Raises StoreError for more than `max_bytes` and for anything but a regular file.
    """
    with open_regular(path) as file:
        content = file.read(min(os.fstat(file.fileno()).st_size, max_bytes) + 1)  # `read` reserves these bytes
    if len(content) > max_bytes:
        raise StoreError(f"{path}: is larger than {max_bytes:,} bytes, so it is not part of a store. {_REMEDY}")
    return content
