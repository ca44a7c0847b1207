"""Processes that write into a bucket. Each has a unique name and a heartbeat that other hosts see.

    writers/<name>   rewritten every few seconds, as long as its process lives

A process is presumed dead when its object has not changed for one lease period, measured by the waiter's clock. It may
have been stopped, or its host may be down or cut off. Processes on one host share a cache. They notice each other's end
immediately, by the heartbeats in the cache.
"""

import re
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from components.errors import StoreError
from runner.engine.store.bucket.objects import Objects
from runner.engine.store.bucket.paths import WRITERS
from runner.engine.store.held_locks import seconds_with_sleep
from runner.engine.store.part_files import storage_errors
from runner.engine.store.writers import LEASE_S

_BEATS_PER_LEASE = 4
_SEND_EVERY_S = 3.0
_LAST_PATIENCE_S = 0.5
_NAME = re.compile(r"[A-Za-z0-9-]+")


class LocalWriters(Protocol):
    """Processes that share a cache. Implemented by `runner.engine.store.writers.Writers`."""

    @property
    def own_name(self) -> str: ...

    def is_gone(self, name: str) -> bool: ...


@dataclass
class _Observation:
    """The tag of a heartbeat, and the interval without a visible change, by the clock of this process."""

    tag: str
    since: float
    until: float


class BucketWriters:
    """Processes that write into one bucket, as seen from this process."""

    def __init__(self, objects: Objects, on_host: LocalWriters, host: str, lease_s: float = LEASE_S) -> None:
        """`host` names the cache of `on_host`. All users of a bucket must have the same `lease_s`."""
        self._objects, self._on_host, self._host, self.lease_s = objects, on_host, host, lease_s
        self._seen: dict[str, _Observation] = {}
        self._heartbeat: _Heartbeat | None = None
        self._starting = threading.Lock()

    @property
    def own_name(self) -> str:
        """Name of this process. The first access starts its heartbeat."""
        with self._starting:
            if self._heartbeat is None:
                name = f"{self._host}-{self._on_host.own_name}"
                self._heartbeat = _Heartbeat(self._objects, f"{WRITERS}/{name}", self.lease_s / _BEATS_PER_LEASE)
                weakref.finalize(self, self._heartbeat.end)  # also at the end of the process
        return self._heartbeat.path.rpartition("/")[2]

    @property
    def host_local_name(self) -> str:
        """Name of this process among those that share the cache."""
        return self._on_host.own_name

    def is_dead_on_this_host(self, host_local_name: str) -> bool:
        """Return True if a process that shares the cache has ended, so that others must send its remaining files."""
        return self._on_host.is_gone(host_local_name)

    @property
    def is_heartbeat_fresh(self) -> bool:
        """True if the last heartbeat is so recent that no process can have presumed this one dead."""
        return self._heartbeat is not None and seconds_with_sleep() - self._heartbeat.last_beat < self.lease_s / 2

    @property
    def n_gaps(self) -> int:
        """Number of pauses between heartbeats that were so long that another host may have presumed this one dead."""
        return self._heartbeat.n_gaps if self._heartbeat else 0

    def run_periodically(self, work: Callable[[], None]) -> None:
        """Call a bound method every few seconds as long as its object and this process live, and once more at their
        end.
        """
        self.own_name  # noqa: B018 - starts the thread
        assert self._heartbeat is not None
        self._heartbeat.work.append(weakref.WeakMethod(work))

    def is_gone(self, name: str) -> bool:
        """Return True if a process has ended, or sent no heartbeat for a lease period while this process watched.

        A damaged name, read from a lock, is watched for a lease period too: its process may be alive.
        """
        tag = ""
        if _NAME.fullmatch(name):
            host, _, on_host = name.partition("-")
            if host == self._host:
                return self._on_host.is_gone(on_host)
            heartbeat = self._objects.head(f"{WRITERS}/{name}")
            if heartbeat is None:
                return True
            tag = heartbeat.tag
        now = time.monotonic()
        seen = self._seen.setdefault(name, _Observation(tag, now, now))
        # After a long pause of this process, watching starts again: the other one may have been stopped with it.
        if seen.tag != tag or now - seen.until > self.lease_s / 2:
            seen.tag, seen.since = tag, now
        seen.until = now
        return now - seen.since > self.lease_s

    def list_dead_heartbeats(self) -> list[str]:
        """Return the paths of heartbeats that killed processes of this host left."""
        return [
            each.path
            for each in self._objects.list_objects(WRITERS)
            if (name := each.path.rpartition("/")[2]).startswith(f"{self._host}-") and self.is_gone(name)
        ]


class _Heartbeat:
    """A thread that rewrites the heartbeat and calls the periodic work."""

    def __init__(self, objects: Objects, path: str, interval_s: float) -> None:
        self.path = path
        self.work: list[weakref.WeakMethod[Callable[[], None]]] = []
        self.last_beat = seconds_with_sleep()
        self.n_gaps = 0
        self._objects, self._interval_s = objects, interval_s
        self._n_beats = 0
        self._stop = threading.Event()
        self._beat()
        threading.Thread(target=self._run, name="bucket-heartbeat", daemon=True).start()

    def _beat(self) -> None:
        began = seconds_with_sleep()
        if began - self.last_beat > self._interval_s * _BEATS_PER_LEASE / 2:
            self.n_gaps += 1  # before `last_beat`, so that no moment looks as if there had been no gap
        self._n_beats += 1
        self._objects.put(self.path, str(self._n_beats).encode())
        self.last_beat = began

    def _run(self) -> None:
        while not self._stop.wait(min(self._interval_s, _SEND_EVERY_S)):
            with suppress(StoreError):  # the bucket is unavailable for a while: writing a result will report it
                if seconds_with_sleep() - self.last_beat >= self._interval_s:
                    self._beat()
                self._do_work()

    def _do_work(self) -> None:
        for reference in list(self.work):
            if (work := reference()) is None:
                self.work.remove(reference)
            else:
                work()

    def end(self) -> None:
        """Remove the heartbeat, so that waiting processes notice the end immediately, and send the rest.

        Does not wait for an unavailable bucket. This process is then presumed dead later, and the next process on this
        host sends its remaining files.
        """
        self._stop.set()
        with suppress(StoreError):
            Objects(self._objects.address, _LAST_PATIENCE_S).delete([self.path])
            self._do_work()


def get_or_create_host_id(cache: Path) -> str:
    """Return the name of a cache. It identifies the host, because all processes of a host share the cache.

    Creates the name on the first call. Raises StoreError if the cache cannot be written.
    """
    path = cache / "host"
    with storage_errors("the name of this cache", cache):
        cache.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), path.open("x", encoding="ascii") as file:
            file.write(uuid.uuid4().hex[:16])
        return path.read_text(encoding="ascii")
