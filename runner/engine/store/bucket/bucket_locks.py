"""Locks in a bucket: objects with the name of the holder. They only save work.

locks/<key>   the name of a writer; a process that finds the writer dead replaces it
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from components.errors import StoreError
from runner.engine.store.bucket.bucket_writers import BucketWriters
from runner.engine.store.bucket.objects import Objects
from runner.engine.store.bucket.paths import LOCKS
from runner.engine.store.held_locks import HeldLock
from runner.engine.store.writers import LOOKS_PER_LEASE

log = logging.getLogger(__name__)

_WARN_AFTER_S = 2.0
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.05, 1.0
_LOOK_EVERY_S = 2.0
_LOOK_PATIENCE_S = 1.0


@contextmanager
def hold_bucket_lock(objects: Objects, writers: BucketWriters, key: str, what: str) -> Iterator[HeldLock]:
    """Hold a lock while the context lasts.

    Raises StoreError if the bucket does not answer.
    """
    path = f"{LOCKS}/{key}"
    has_waited = _wait(objects, writers, path, what)
    check = _LossCheck(objects, writers, path)
    try:
        yield HeldLock(has_waited, check)
    finally:
        with suppress(StoreError):  # the bucket is unavailable: the lock ends with this process
            if check.is_safe or check.has_lock(objects):
                objects.delete([path])


class _LossCheck:
    """Checks whether another host has taken a lock, but only if this host may have been presumed dead."""

    def __init__(self, objects: Objects, writers: BucketWriters, path: str) -> None:
        self._address, self._writers, self._path = objects.address, writers, path
        self._own_name = writers.own_name.encode()
        self._n_gaps = writers.n_gaps
        self._next_look = 0.0
        self._is_lost = False

    def __call__(self) -> bool:
        n_gaps, now = self._writers.n_gaps, time.monotonic()
        if self._is_lost or self.is_safe or now < self._next_look:
            return self._is_lost
        self._next_look = now + _LOOK_EVERY_S
        with suppress(StoreError):  # the bucket is unavailable, perhaps for the other hosts too
            self._is_lost = not self.has_lock(Objects(self._address, _LOOK_PATIENCE_S))
            self._n_gaps = n_gaps
        return self._is_lost

    @property
    def is_safe(self) -> bool:
        """True if no other host can have presumed this one dead since the last check."""
        return not self._is_lost and self._writers.is_heartbeat_fresh and self._writers.n_gaps == self._n_gaps

    def has_lock(self, objects: Objects) -> bool:
        """Return True if the lock has the name of this process. Raises StoreError if the bucket does not answer."""
        lock = objects.get(self._path)
        return lock is not None and lock.contents == self._own_name


def _wait(objects: Objects, writers: BucketWriters, path: str, what: str) -> bool:
    own_name = writers.own_name.encode()
    began, pause_s, has_warned, has_waited = time.monotonic(), _FIRST_PAUSE_S, False, False
    longest_pause_s = min(_MAX_PAUSE_S, writers.lease_s / LOOKS_PER_LEASE)
    while objects.create(path, own_name) is None:
        lock = objects.get(path)
        if lock is None:
            has_waited = True
            continue
        if lock.contents == own_name:  # the object was written, but the response was lost
            return has_waited
        has_waited = True
        holder = lock.contents.decode(errors="replace")
        if writers.is_gone(holder):
            if objects.replace(path, own_name, lock.tag):
                return True
            continue
        if not has_warned and time.monotonic() - began > _WARN_AFTER_S:
            log.warning("waiting for another host, which is %s (%s holds %s/%s)", what, holder, objects.address, path)
            has_warned = True
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, longest_pause_s)
    return has_waited
