"""Locks based on the heartbeat of their holder. All hosts see them. A lock is free once its holder has ended or
stopped.

Locks only save work. Two processes may believe that they hold the same lock if the first was stopped for a lease
period.

A lock is a symbolic link to the name of its holder, and the target need not exist. Creating and naming it is one step,
so a kill cannot come between the two. On systems without such links, the lock is a file that contains the name.
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

from components.errors import StoreError
from runner.engine.store.held_locks import HeldLock
from runner.engine.store.locks import shared_mode
from runner.engine.store.part_files import storage_errors
from runner.engine.store.regular_files import open_regular
from runner.engine.store.writers import LOOKS_PER_LEASE, Writers

log = logging.getLogger(__name__)

_WARN_AFTER_S = 2.0
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.02, 0.5
_LOOK_EVERY_S = 1.0
_IF_STOPPED = ". If that process is suspended (Ctrl-Z), resume or end it, so that its requests are paid for only once."

_MAX_CLAIM_CHARACTERS = 255
_CLAIM = re.compile(rf"[^/\0\n]{{1,{_MAX_CLAIM_CHARACTERS}}}")

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
"""Errors of systems and file systems without symbolic links. Windows also raises one for users without the right."""


@contextmanager
def hold_key_lock(path: Path, writers: Writers, what: str, *, from_stopped: bool = True) -> Iterator[HeldLock]:
    """Hold a lock while the context lasts. Raises StoreError if it cannot be created.

    Logs a warning if it has to wait, with `what` the other process is doing. Without `from_stopped`, a stopped process
    of this host keeps its lock.
    """
    with storage_errors("a lock", path):
        claim = _new_claim(writers)
        had_holder = not _try_to_take(path, claim)
        if had_holder:
            _wait(path, claim, writers, what, from_stopped=from_stopped)
    try:
        yield HeldLock(had_holder, lambda: _is_lost(path, claim))
    finally:
        _release(path, claim)


@contextmanager
def try_hold_key_lock(path: Path, writers: Writers) -> Iterator[bool]:
    """Yield True while holding the lock; yield False immediately if another process holds it.

    Raises StoreError if the lock cannot be created or read.
    """
    with storage_errors("a lock", path):
        claim = _new_claim(writers)
        is_own = _try_to_take(path, claim) or (
            _break_if_abandoned(path, writers, from_stopped=True) and _try_to_take(path, claim)
        )
    try:
        yield is_own
    finally:
        if is_own:
            _release(path, claim)


def abandoned_locks(folder: Path, writers: Writers) -> list[Path]:
    """Return the locks of processes that have ended, sorted. Raises OSError if a lock cannot be read.

    A lock without a claim is never included. The system may hold it (see `runner.engine.store.locks`), and replacing
    the file would admit a second process.
    """
    locks = []
    for path in sorted(folder.glob("*")):
        with suppress(FileNotFoundError):  # the lock has just been released
            claim = _read_claim(path) if _may_hold_claim(path) else ""
            if _CLAIM.fullmatch(claim) and writers.is_gone(_writer(claim)):
                locks.append(path)
    return locks


def _may_hold_claim(path: Path) -> bool:
    """Return True for a link, and for a file that is small enough to hold a claim. Raises OSError if it was deleted."""
    if path.is_symlink():
        return True
    return path.is_file() and 0 < path.stat().st_size <= _MAX_CLAIM_CHARACTERS and os.access(path, os.R_OK)


def _wait(path: Path, claim: str, writers: Writers, what: str, *, from_stopped: bool) -> None:
    began, pause_s, has_warned, looked = time.monotonic(), _FIRST_PAUSE_S, False, float("-inf")
    look_every_s = min(_LOOK_EVERY_S, writers.lease_s / LOOKS_PER_LEASE)
    while not _try_to_take(path, claim):
        now = time.monotonic()
        if now - looked >= look_every_s:
            if _break_if_abandoned(path, writers, from_stopped=from_stopped):
                continue
            looked = now
        if not has_warned and now - began > _WARN_AFTER_S:
            advice = "" if from_stopped else _IF_STOPPED
            log.warning("waiting for another process, which is %s (it holds %s)%s", what, path, advice)
            has_warned = True
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _MAX_PAUSE_S, look_every_s)


def _new_claim(writers: Writers) -> str:
    """Return the writer's name with a suffix that distinguishes this claim from its others."""
    return f"{writers.own_name}:{uuid.uuid4().hex[:8]}"


def _writer(claim: str) -> str:
    return claim.partition(":")[0]


def _read_claim(path: Path) -> str:
    """Return the claim in a lock, "" if its creator has not written the claim yet.

    Raises OSError if it cannot be read.
    """
    try:
        return os.readlink(path)  # noqa: PTH115 - the target is not a path
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    with open_regular(path) as file:
        return file.read(4 * _MAX_CLAIM_CHARACTERS + 1).decode("utf-8", "replace")


def _try_to_take(path: Path, claim: str) -> bool:
    """Create the lock. Returns False if another process has it. Raises OSError if the folder cannot be written."""
    try:
        os.symlink(claim, path)  # noqa: PTH211 - the target is not a path
    except FileExistsError:
        return _has_claim(path, claim)
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LINKS:
            raise
        return _try_to_take_as_file(path, claim)
    return True


def _has_claim(path: Path, claim: str) -> bool:
    """Return True if the lock has this claim.

    A network file system that repeats a request may report that the link exists, although it has just created it.
    """
    try:
        return _read_claim(path) == claim
    except FileNotFoundError:
        return False


def _is_lost(path: Path, claim: str) -> bool:
    """Return True if the lock was removed or has another claim, False while the file system cannot tell."""
    try:
        return not _has_claim(path, claim)
    except (OSError, StoreError):
        return False


def _try_to_take_as_file(path: Path, claim: str) -> bool:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    try:
        path.chmod(shared_mode(path.parent))  # independent of the umask, because other users must be able to read it
        os.write(file, claim.encode())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    return True


def _break_if_abandoned(path: Path, writers: Writers, *, from_stopped: bool) -> bool:
    """Return True if the lock has no live holder. Breaks it in that case."""
    is_gone = writers.is_gone if from_stopped else writers.is_dead
    try:
        claim = _read_claim(path)
        # No claim: the creator of the file is about to write it, or died before that, or a power cut left only zeros.
        is_claim = _CLAIM.fullmatch(claim)
        is_abandoned = is_gone(_writer(claim)) if is_claim else writers.is_silent(path, path.lstat().st_mtime_ns)
    except FileNotFoundError:
        return True
    if is_abandoned:
        _break(path, claim)
    return is_abandoned


def _break(path: Path, claim: str) -> None:
    aside = path.with_name(f".{uuid.uuid4().hex}")
    with suppress(FileNotFoundError):  # Another process renamed the file first.
        path.rename(aside)
        if (current := _read_claim(aside)) != claim:  # Another process took the lock meanwhile.
            _try_to_take(path, current)
        aside.unlink(missing_ok=True)


def _release(path: Path, claim: str) -> None:
    """Remove the lock unless another process presumed this one dead and has taken it."""
    with suppress(OSError):  # the store was deleted, or the lock ends with this process
        if _read_claim(path) == claim:
            path.unlink()
