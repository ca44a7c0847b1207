"""Locks of a store that several processes, machines and users share.

The folder `locks` of a store holds three kinds of files, distinguished by their content:

    <key>.lock               a link to, or a file with, the name of the process that computes a result
                             (`runner.engine.store.key_locks`); prune removes it once that process has ended
    replies-<key>.lock.<n>   an empty file; processes lock bytes of it (`runner.engine.store.claims`)
    set-<hash>.lock          an empty file, locked by the system while a set is written (`hold_lock` below)

An empty file is never removed, because a process may hold its lock at any time. The system releases the lock when its
holder ends.
"""

import logging
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

log = logging.getLogger(__name__)

_WARN_AFTER_S = 2.0


@contextmanager
def hold_lock(path: Path, what: str) -> Iterator[None]:
    """Hold the lock while the context lasts. The system releases it when its holder dies.

    Logs a warning if it has to wait, with `what` the other process is doing.
    """
    lock = FileLock(path, mode=shared_mode(path.parent))
    try:
        lock.acquire(timeout=_WARN_AFTER_S)
    except Timeout:
        log.warning("waiting for another process, which is %s (it holds %s)", what, path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def shared_mode(folder: Path) -> int:
    """Return permissions that let every user lock the file who may write in its folder, independent of the umask."""
    return stat.S_IMODE(folder.stat().st_mode) & 0o666 | 0o600
