"""Locks that go by their holder's sign of life: seen by all hosts, and free once the holder has ended or was stopped.

They save work, and nothing else: two may believe that they hold one, if the first was stopped for the time of a lease.
"""

import logging
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.engine.store.files import keeping
from runner.engine.store.locks import shared_mode
from runner.engine.store.writers import Writers

log = logging.getLogger(__name__)

_SAID_AFTER_S = 2.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
_LOOKED_EVERY_S = 1.0


@contextmanager
def leased(path: Path, writers: Writers, what: str) -> Iterator[None]:
    """Holds a lock while the context lasts. Who has to wait for it says so, and that another process is doing `what`.
    Raises StoreError.
    """
    with keeping("a lock", path):
        name = writers.own_name
        _wait(path, name, writers, what)
    try:
        yield
    finally:
        _release(path, name)


@contextmanager
def leased_if_free(path: Path, writers: Writers) -> Iterator[bool]:
    """As `leased`, but whoever would have to wait goes without: False."""
    with keeping("a lock", path):
        name = writers.own_name
        is_own = _taken(path, name) or (_was_left(path, writers) and _taken(path, name))
    try:
        yield is_own
    finally:
        if is_own:
            _release(path, name)


def left_locks(folder: Path, writers: Writers) -> list[Path]:
    """Those that processes left which have ended. Raises OSError."""
    return [path for path in sorted(folder.glob("*.lock")) if _is_left(path, writers)]


def _is_left(path: Path, writers: Writers) -> bool:
    try:
        return writers.is_gone(path.read_text(encoding="utf-8"))
    except FileNotFoundError:  # released at this moment
        return False


def _wait(path: Path, name: str, writers: Writers, what: str) -> None:
    began, pause_s, is_said, looked = time.monotonic(), _FIRST_PAUSE_S, False, float("-inf")
    looked_every_s = min(_LOOKED_EVERY_S, writers.lease_s / 8)
    while not _taken(path, name):
        now = time.monotonic()
        if now - looked >= looked_every_s:
            if _was_left(path, writers):
                continue
            looked = now
        if not is_said and now - began > _SAID_AFTER_S:
            log.warning("waiting for another process, which is %s (it holds %s)", what, path)
            is_said = True
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S, looked_every_s)


def _taken(path: Path, name: str) -> bool:
    """Whether there was no such lock, and now there is one of that name."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    try:
        path.chmod(shared_mode(path.parent))  # whatever this user's umask: others must be able to read it
        os.write(file, name.encode())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    return True


def _was_left(path: Path, writers: Writers) -> bool:
    """Whether it is free, since nobody holds it or its holder is gone: it is then taken from him."""
    try:
        holder = path.read_text(encoding="utf-8")
        # Without a name: its maker is about to write it, or died just before.
        is_left = writers.is_gone(holder) if holder else writers.is_silent(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return True
    if is_left:
        _take_from(path, holder)
    return is_left


def _take_from(path: Path, holder: str) -> None:
    aside = path.with_name(f".{uuid.uuid4().hex}")
    with suppress(FileNotFoundError):  # another was faster
        path.rename(aside)
        if (found := aside.read_text(encoding="utf-8")) != holder:  # ... and holds it by now
            _taken(path, found)
        aside.unlink(missing_ok=True)


def _release(path: Path, name: str) -> None:
    """Unless another believed its holder gone, and has it now."""
    with suppress(OSError):  # of a store that went away; else whoever waits has it when this process ends
        if path.read_text(encoding="utf-8") == name:
            path.unlink()
