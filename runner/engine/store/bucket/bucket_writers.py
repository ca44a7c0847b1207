"""Who writes into a bucket: every process under a name of its own, with a sign of life that other hosts see.

    writers/<name>   put anew every few seconds, as long as its process lives

Whoever waits for a process believes it gone once its object has not changed for the time of a lease, by the clock of
who waits: it was stopped, or its host is dead or cut off. The processes of one host share a cache: they see the end of
one of theirs at once, by the signs of life in there.
"""

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
from runner.engine.store.part_files import keeping
from runner.engine.store.writers import LEASE_S

_BEATS_PER_LEASE = 4
_SENT_EVERY_S = 3.0
_LAST_PATIENCE_S = 0.5


class OnHost(Protocol):
    """The processes that share a cache: `runner.engine.store.writers.Writers`."""

    @property
    def own_name(self) -> str: ...

    def is_gone(self, name: str) -> bool: ...


@dataclass
class _Seen:
    """The tag of a sign of life, and since when and until when it was seen so by our clock."""

    tag: str
    since: float
    until: float


class BucketWriters:
    """Those of one bucket, seen from this process."""

    def __init__(self, objects: Objects, on_host: OnHost, host: str, lease_s: float = LEASE_S) -> None:
        """`host` names the cache that `on_host` is about. All who share a bucket must have the same `lease_s`."""
        self._objects, self._on_host, self._host, self.lease_s = objects, on_host, host, lease_s
        self._seen: dict[str, _Seen] = {}
        self._pulse: _Pulse | None = None
        self._starting = threading.Lock()

    @property
    def own_name(self) -> str:
        """That of this process, which is seen to live from now on."""
        with self._starting:
            if self._pulse is None:
                name = f"{self._host}-{self._on_host.own_name}"
                self._pulse = _Pulse(self._objects, f"{WRITERS}/{name}", self.lease_s / _BEATS_PER_LEASE)
                weakref.finalize(self, self._pulse.end)  # also at the end of the process
        return self._pulse.path.rpartition("/")[2]

    @property
    def on_host_name(self) -> str:
        """That of this process among those that share the cache."""
        return self._on_host.own_name

    def has_ended_here(self, on_host_name: str) -> bool:
        """Whether one of the processes that share the cache is gone, which leaves it to others to send what it had."""
        return self._on_host.is_gone(on_host_name)

    @property
    def is_seen(self) -> bool:
        """Whether nobody can have believed this process gone by now: its last sign of life is recent enough."""
        return self._pulse is not None and time.monotonic() - self._pulse.given < self.lease_s / 2

    def every_few_seconds(self, work: Callable[[], None]) -> None:
        """Has a bound method called as long as its object and this process live, and once more at their end."""
        self.own_name  # noqa: B018 - begins the thread
        assert self._pulse is not None
        self._pulse.work.append(weakref.WeakMethod(work))

    def is_gone(self, name: str) -> bool:
        """Whether a process has ended, or gave no sign of life for a lease while this one looked."""
        host, _, on_host = name.partition("-")
        if host == self._host:
            return self._on_host.is_gone(on_host)
        found = self._objects.head(f"{WRITERS}/{name}")
        if found is None:
            return True
        now = time.monotonic()
        seen = self._seen.setdefault(name, _Seen(found.tag, now, now))
        # After a long pause of ours it is watched anew: what stopped this process may have stopped the other one too.
        if seen.tag != found.tag or now - seen.until > self.lease_s / 2:
            seen.tag, seen.since = found.tag, now
        seen.until = now
        return now - seen.since > self.lease_s

    def ended_here(self) -> list[str]:
        """Paths of the signs of life that processes of this host left when they were killed."""
        return [
            each.path
            for each in self._objects.listed(WRITERS)
            if (name := each.path.rpartition("/")[2]).startswith(f"{self._host}-") and self.is_gone(name)
        ]


class _Pulse:
    """One thread that puts the sign of life anew, and does what is to be done every few seconds."""

    def __init__(self, objects: Objects, path: str, interval_s: float) -> None:
        self.path = path
        self.work: list[weakref.WeakMethod[Callable[[], None]]] = []
        self.given = time.monotonic()
        self._objects, self._interval_s = objects, interval_s
        self._n_beats = 0
        self._stop = threading.Event()
        self._beat()
        threading.Thread(target=self._run, name="bucket-heartbeat", daemon=True).start()

    def _beat(self) -> None:
        began = time.monotonic()
        self._n_beats += 1
        self._objects.put(self.path, str(self._n_beats).encode())
        self.given = began

    def _run(self) -> None:
        while not self._stop.wait(min(self._interval_s, _SENT_EVERY_S)):
            with suppress(StoreError):  # a bucket that is gone for a while: who writes a result will say so
                if time.monotonic() - self.given >= self._interval_s:
                    self._beat()
                self._do_work()

    def _do_work(self) -> None:
        for reference in list(self.work):
            if (work := reference()) is None:
                self.work.remove(reference)
            else:
                work()

    def end(self) -> None:
        """Who waits for this process sees at once that it has ended. A bucket that is gone is not waited for: this one
        is found dead later, and what it did not send is sent by the next on this host.
        """
        self._stop.set()
        with suppress(StoreError):
            Objects(self._objects.address, _LAST_PATIENCE_S).delete([self.path])
            self._do_work()


def host_of(cache: Path) -> str:
    """The name of a cache, and so of the host whose processes share it. Raises StoreError."""
    path = cache / "host"
    with keeping("the name of this cache", cache):
        cache.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), path.open("x", encoding="ascii") as file:
            file.write(uuid.uuid4().hex[:16])
        return path.read_text(encoding="ascii")
