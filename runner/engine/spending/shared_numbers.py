"""A file with a few numbers that several processes change in turn."""

import logging
import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from components.errors import StoreError
from runner.engine.store.locks import shared_mode
from runner.engine.store.part_files import storage_errors
from runner.engine.store.regular_files import open_regular

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

_WARN_AFTER_S = 2.0
_LOOK_EVERY_S = 0.001

_in_this_process = threading.RLock()
"""Lock between threads: locks of the operating system exclude processes only."""


class SharedNumbers:
    """`n` numbers, initially 0. A change takes microseconds. A killed process leaves the numbers as they were."""

    def __init__(self, path: Path, n: int, *, must_persist: bool = False) -> None:
        """The first change creates the file.

        With `must_persist`, later changes by this object require that file, because numbers that restart from 0 would
        be wrong.
        """
        self._path = path
        self._format = struct.Struct(f"<{n}d")
        self._must_persist = must_persist
        self._flags = os.O_RDWR | os.O_CREAT

    @contextmanager
    def change(self) -> Iterator[list[float]]:
        """Yield a list of the numbers, and write its contents at the end of the context unless an exception was raised.

        No other process reads or changes the numbers during the context. Raises StoreError if the file cannot be
        opened, locked or written.
        """
        with _in_this_process, storage_errors("the spending of the sweep", self._path), self._open() as file:
            _lock(file, self._path)
            try:
                numbers = self._unpack(os.pread(file, self._format.size, 0))
                old_numbers = list(numbers)
                yield numbers
                if numbers != old_numbers:
                    os.pwrite(file, self._format.pack(*numbers), 0)
            finally:
                _unlock(file)

    def read(self) -> list[float]:
        """Return the numbers without a lock: a change that is being written may be seen in part. They are 0 if the file
        does not exist.
        """
        try:
            with _in_this_process, open_regular(self._path) as file:
                return self._unpack(file.read(self._format.size))
        except (OSError, StoreError):
            return self._unpack(b"")

    def _unpack(self, contents: bytes) -> list[float]:
        # A file that is too short was just created, or the disk was full.
        return list(self._format.unpack(contents.ljust(self._format.size, b"\0")))

    @contextmanager
    def _open(self) -> Iterator[int]:
        """Open the file for one change: a process with many sweeps would otherwise run out of file descriptors."""
        if self._flags & os.O_CREAT:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, self._flags)
        if self._must_persist:
            self._flags = os.O_RDWR
        try:
            with suppress(PermissionError):  # another user created the file, with these permissions
                os.fchmod(file, shared_mode(self._path.parent))
            yield file
        finally:
            os.close(file)


def _lock(file: int, path: Path) -> None:
    """Lock the file. Logs a warning after a while, because the holder was then probably stopped during a change."""
    if sys.platform == "win32":  # Windows has no such locks: concurrent changes may be lost
        return
    warn_at = time.monotonic() + _WARN_AFTER_S
    while not _try_to_lock(file):
        if time.monotonic() > warn_at:
            log.warning(
                "waiting for another process, which holds %s. If it is suspended (Ctrl-Z), resume or end it.", path
            )
            fcntl.lockf(file, fcntl.LOCK_EX)
            return
        time.sleep(_LOOK_EVERY_S)


def _try_to_lock(file: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, depending on the system
        return False
    return True


def _unlock(file: int) -> None:
    if sys.platform != "win32":
        fcntl.lockf(file, fcntl.LOCK_UN)
