"""Locks that go by their holder's sign of life: seen by all hosts, and free once the holder has ended or was stopped.

They save work, and nothing else: two may believe that they hold one, if the first was stopped for the time of a lease.

A lock is a symbolic link to the name of its holder, which need not exist: it is made and named in one step, so that
nobody can be killed between the two. Where there are no such links it is a file that holds the name.
"""

import errno
import logging
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.engine.store.locks import shared_mode
from runner.engine.store.part_files import keeping
from runner.engine.store.writers import LOOKS_PER_LEASE, Writers

log = logging.getLogger(__name__)

_SAID_AFTER_S = 2.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
_LOOKED_EVERY_S = 1.0
_IF_STOPPED = "; if that one was stopped (Ctrl-Z), let it go on, or end it: what it asks for is paid for once"

_CLAIM = re.compile(r"[^/\0\n]+")
_LONGEST_CLAIM = 255

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
"""Of systems and file systems without symbolic links; Windows says it of users without the right to make them."""


@contextmanager
def leased(path: Path, writers: Writers, what: str, *, from_stopped: bool = True) -> Iterator[bool]:
    """Holds a lock while the context lasts; the value says whether another held it before. Who has to wait for it says
    so, and that another process is doing `what`. Without `from_stopped` a process of this host that was only stopped
    keeps its lock. Raises StoreError.
    """
    with keeping("a lock", path):
        claim = _new_claim(writers)
        had_holder = not _taken(path, claim)
        if had_holder:
            _wait(path, claim, writers, what, from_stopped=from_stopped)
    try:
        yield had_holder
    finally:
        _release(path, claim)


@contextmanager
def leased_if_free(path: Path, writers: Writers) -> Iterator[bool]:
    """As `leased`, but whoever would have to wait goes without: False."""
    with keeping("a lock", path):
        claim = _new_claim(writers)
        is_own = _taken(path, claim) or (_was_left(path, writers, from_stopped=True) and _taken(path, claim))
    try:
        yield is_own
    finally:
        if is_own:
            _release(path, claim)


def left_locks(folder: Path, writers: Writers) -> list[Path]:
    """Return the locks of processes that have ended, sorted.

    A lock without a claim is never among them: the system may hold it (see `runner.engine.store.locks`), and a new file
    of its name would let a second process in. Raises OSError.
    """
    found = []
    for path in sorted(folder.glob("*")):
        with suppress(FileNotFoundError):  # released at this moment
            claim = _claim_in(path) if _may_hold_claim(path) else ""
            if _CLAIM.fullmatch(claim) and writers.is_gone(_writer(claim)):
                found.append(path)
    return found


def _may_hold_claim(path: Path) -> bool:
    """Return True for a link, and for a file that is small enough to hold a claim. Raises OSError."""
    if path.is_symlink():
        return True
    return path.is_file() and 0 < path.stat().st_size <= _LONGEST_CLAIM and os.access(path, os.R_OK)


def _wait(path: Path, claim: str, writers: Writers, what: str, *, from_stopped: bool) -> None:
    began, pause_s, is_said, looked = time.monotonic(), _FIRST_PAUSE_S, False, float("-inf")
    looked_every_s = min(_LOOKED_EVERY_S, writers.lease_s / LOOKS_PER_LEASE)
    while not _taken(path, claim):
        now = time.monotonic()
        if now - looked >= looked_every_s:
            if _was_left(path, writers, from_stopped=from_stopped):
                continue
            looked = now
        if not is_said and now - began > _SAID_AFTER_S:
            advice = "" if from_stopped else _IF_STOPPED
            log.warning("waiting for another process, which is %s (it holds %s)%s", what, path, advice)
            is_said = True
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S, looked_every_s)


def _new_claim(writers: Writers) -> str:
    """The writer's name, and what tells this claim from others of his."""
    return f"{writers.own_name}:{uuid.uuid4().hex[:8]}"


def _writer(claim: str) -> str:
    return claim.partition(":")[0]


def _claim_in(path: Path) -> str:
    """What a lock says; "" for a file whose maker has not written into it. Raises OSError."""
    try:
        return os.readlink(path)  # noqa: PTH115 - it leads to no path
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return path.read_text(encoding="utf-8", errors="replace")


def _taken(path: Path, claim: str) -> bool:
    """Whether there was no lock, and now there is this. Raises OSError."""
    try:
        os.symlink(claim, path)  # noqa: PTH211 - it leads to no path
    except FileExistsError:
        return _is_ours(path, claim)
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LINKS:
            raise
        return _taken_by_file(path, claim)
    return True


def _is_ours(path: Path, claim: str) -> bool:
    """A network file system that asks again is told that the link, which it has just made, is there."""
    try:
        return _claim_in(path) == claim
    except FileNotFoundError:
        return False


def _taken_by_file(path: Path, claim: str) -> bool:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    try:
        path.chmod(shared_mode(path.parent))  # whatever this user's umask: others must be able to read it
        os.write(file, claim.encode())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    return True


def _was_left(path: Path, writers: Writers, *, from_stopped: bool) -> bool:
    """Whether it is free, since nobody holds it or its holder is gone: it is then taken from him."""
    is_gone = writers.is_gone if from_stopped else writers.has_ended
    try:
        claim = _claim_in(path)
        # Without one: the maker of the file is about to write it, or died just before.
        is_left = is_gone(_writer(claim)) if claim else writers.is_silent(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return True
    if is_left:
        _take_from(path, claim)
    return is_left


def _take_from(path: Path, claim: str) -> None:
    aside = path.with_name(f".{uuid.uuid4().hex}")
    with suppress(FileNotFoundError):  # another was faster
        path.rename(aside)
        if (found := _claim_in(aside)) != claim:  # ... and holds it by now
            _taken(path, found)
        aside.unlink(missing_ok=True)


def _release(path: Path, claim: str) -> None:
    """Unless another believed its holder gone, and has it now."""
    with suppress(OSError):  # of a store that went away; else whoever waits has it when this process ends
        if _claim_in(path) == claim:
            path.unlink()
