"""Which process asks for which replies, so that several which want the same pay once.

A claim is a lock of the operating system on a byte of a file: it goes when its holder dies, and needs no cleaning up.
The system goes through the list of a file's locks for each new one, so the bytes are those of several files.

Between hosts they hold only if the file system passes such locks on. Where it does not, each host asks for what the
other asks for at the same moment: both pay, both keep their replies, and nothing breaks.
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
"""Requests that fall on one byte wait for each other, which costs time and no money."""

_N_FILES = 16
"""10,000 claims in one file take half a second of a core, 40,000 take eight."""


class Claims:
    """Claims to the replies of one model for one purpose, in this process; those of others are at the same path."""

    def __init__(self, path: Path) -> None:
        """The files, of this path with a number behind it, are made with the first claims."""
        self._path = path

    @contextmanager
    def take(self, keys: Collection[str]) -> Iterator[frozenset[str]]:
        """Those of the keys that no other process has claimed are this one's while the context lasts."""
        if sys.platform == "win32":  # no such locks there: what several processes want at once is asked for by each
            yield frozenset(keys)
            return
        slots = {key: crc32(key.encode()) % _N_SLOTS for key in keys}
        taken: set[int] = set()
        with ExitStack() as files:
            # Closed in the end, which releases the locks: each model and purpose would else keep files open for ever.
            opened = {n: files.enter_context(self._opened(n)) for n in {slot % _N_FILES for slot in slots.values()}}
            for slot in set(slots.values()):
                if _lock(opened[slot % _N_FILES], slot):
                    taken.add(slot)
            yield frozenset(key for key, slot in slots.items() if slot in taken)

    @contextmanager
    def _opened(self, number: int) -> Iterator[int]:
        path = self._path.with_name(f"{self._path.name}.{number}")
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        try:
            with suppress(PermissionError):  # another user made it, for all who may write in the folder
                os.fchmod(file, shared_mode(path.parent))
            yield file
        finally:
            os.close(file)


def _lock(file: int, slot: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
    except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, as the system likes
        return False
    return True
