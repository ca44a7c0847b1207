"""Claims of processes to replies: several processes that need the same replies pay for them once.

A claim is a lock of the operating system on a byte of a file. The system releases it when its holder dies. The bytes
are spread over several files, because the system searches the list of a file's locks for each new lock.

Between hosts, claims work only if the file system shares locks. If it does not, two hosts may send the same request at
the same time. Both then pay and both store their replies, and nothing breaks.
"""

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from zlib import crc32

from runner.engine.store.locks import shared_mode

if sys.platform != "win32":
    import fcntl

_N_SLOTS = 1 << 16
"""Number of bytes. Requests on the same byte wait for each other, which costs time but no money."""

_N_FILES = 16
"""Number of files. 10,000 claims in one file take half a second of a core, 40,000 take eight."""


class Claims:
    """Claims of this process to the replies of one model for one purpose. Other processes use the same path."""

    def __init__(self, path: Path) -> None:
        """The first claims create the files: this path with a number appended."""
        self._path = path

    @contextmanager
    def take(self, keys: Collection[str]) -> Iterator[frozenset[str]]:
        """Claim the keys that no other process has claimed. Yields them, and holds them while the context lasts."""
        if sys.platform == "win32":  # Windows has no such locks: each process asks for itself
            yield frozenset(keys)
            return
        slots = {key: crc32(key.encode()) % _N_SLOTS for key in keys}
        taken: set[int] = set()
        with ExitStack() as files:
            # Closing the files releases the locks. Otherwise each model and purpose would keep files open.
            opened = {n: files.enter_context(self._open(n)) for n in {slot % _N_FILES for slot in slots.values()}}
            for slot in set(slots.values()):
                if _try_to_lock(opened[slot % _N_FILES], slot):
                    taken.add(slot)
            yield frozenset(key for key, slot in slots.items() if slot in taken)

    @contextmanager
    def _open(self, number: int) -> Iterator[int]:
        path = self._path.with_name(f"{self._path.name}.{number}")
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        try:
            with suppress(PermissionError):  # another user created it, with these permissions
                os.fchmod(file, shared_mode(path.parent))
            yield file
        finally:
            os.close(file)


def _try_to_lock(file: int, slot: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
    except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, depending on the system
        return False
    return True
