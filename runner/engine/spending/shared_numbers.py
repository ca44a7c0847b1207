"""A few numbers in a file that several processes change, one after the other."""

import logging
import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.engine.store.locks import shared_mode
from runner.engine.store.part_files import keeping

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

_SAID_AFTER_S = 2.0
_LOOK_EVERY_S = 0.001

_in_this_process = threading.RLock()
"""The system's locks are a process's: its threads do not exclude each other by them."""


class SharedNumbers:
    """`n` numbers, 0 each at first. To change them takes microseconds; a killed process leaves them as they were."""

    def __init__(self, path: Path, n: int, *, must_persist: bool = False) -> None:
        """The first change creates the file. With `must_persist`, later changes by this object need that file: numbers
        that start from 0 again would be wrong.
        """
        self._path = path
        self._format = struct.Struct(f"<{n}d")
        self._must_persist = must_persist
        self._flags = os.O_RDWR | os.O_CREAT

    @contextmanager
    def changed(self) -> Iterator[list[float]]:
        """A list of the numbers; what is in it at the end of the context counts, unless that ends with an exception.
        Nobody else reads or changes them meanwhile. Raises StoreError.
        """
        with _in_this_process, keeping("what was spent", self._path), self._opened() as file:
            _lock(file, self._path)
            try:
                found = os.pread(file, self._format.size, 0)
                # One that is too short was made this moment, or its disk was full.
                numbers = list(self._format.unpack(found.ljust(self._format.size, b"\0")))
                before = list(numbers)
                yield numbers
                if numbers != before:
                    os.pwrite(file, self._format.pack(*numbers), 0)
            finally:
                _unlock(file)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """For one change: a process that runs many sweeps would run out of open files."""
        if self._flags & os.O_CREAT:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, self._flags)
        if self._must_persist:
            self._flags = os.O_RDWR
        try:
            with suppress(PermissionError):  # another user made it, for all who may write in the folder
                os.fchmod(file, shared_mode(self._path.parent))
            yield file
        finally:
            os.close(file)


def _lock(file: int, path: Path) -> None:
    """Says so if it takes long: the holder was then stopped in the middle of a change."""
    if sys.platform == "win32":  # no such locks there: processes may count over each other
        return
    said_at = time.monotonic() + _SAID_AFTER_S
    while not _is_locked(file):
        if time.monotonic() > said_at:
            log.warning(
                "waiting for another process, which holds %s; if it was stopped (Ctrl-Z), let it go on, or end it", path
            )
            fcntl.lockf(file, fcntl.LOCK_EX)
            return
        time.sleep(_LOOK_EVERY_S)


def _is_locked(file: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, as the system likes
        return False
    return True


def _unlock(file: int) -> None:
    if sys.platform != "win32":
        fcntl.lockf(file, fcntl.LOCK_UN)
