"""Processes that write into a store. Each has a unique name and a heartbeat that other hosts see too.

    <root>/writers/<name>   touched every few seconds; locked by its process, where the file system has locks

A process is presumed dead when its heartbeat file has not changed for one lease period, measured by the waiter's clock.
It may have been stopped, or its host may be down or cut off. On the same host, its end is noticed immediately. A
process that continues after it was presumed dead does no harm, because the correctness of results does not depend on
this.
"""

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runner.engine.store.heartbeat import heartbeat, kernel, lock_file

LEASE_S = 20.0
"""The lease period in seconds. Longer than pauses of healthy processes, and than the delay of network file systems."""

LOOKS_PER_LEASE = 8
"""Minimum number of checks per lease period by a process that waits for another one.

If it checked less often, it could not tell whether both processes were stopped together, and would never presume the
other one dead.
"""

_BEATS_PER_LEASE = 4
_SURELY_DEAD_S = 3600.0
"""A process is presumed dead without watching it if its file is this much older than a file just touched."""


@dataclass
class _Observation:
    """The last change of a file by the file system's clock, and the interval without a visible change since then, by
    the clock of this process.
    """

    changed_ns: int
    since: float
    until: float


class Writers:
    """Processes that write into one store."""

    def __init__(self, folder: Path, lease_s: float = LEASE_S, *, may_write: bool = True) -> None:
        """The first writer creates the folder. All users of a store must have the same `lease_s`.

        Without `may_write`, this process has no heartbeat and compares files with the clock of its host.
        """
        self._folder = folder
        self.lease_s = lease_s
        self.may_write = may_write
        self._seen: dict[Path, _Observation] = {}

    @property
    def own_name(self) -> str:
        """Name of this process. The first access starts its heartbeat. Raises OSError if its file cannot be written."""
        return heartbeat.start_file(self._folder, self.lease_s / _BEATS_PER_LEASE, self)

    @property
    def own_path(self) -> Path:
        """Heartbeat file of this process. Raises OSError if it cannot be written."""
        return self._folder / self.own_name

    def is_gone(self, name: str) -> bool:
        """Return True if a process has ended, or had no heartbeat for a lease period.

        Raises OSError if its file cannot be read.
        """
        return self._is_gone(name, if_stopped=True)

    def is_dead(self, name: str) -> bool:
        """Return True if `is_gone`, but False for a stopped process (Ctrl-Z) of this host, which may continue.

        Raises OSError if its file cannot be read.
        """
        return self._is_gone(name, if_stopped=False)

    def _is_gone(self, name: str, *, if_stopped: bool) -> bool:
        if heartbeat.is_own(name):
            return False
        path = self._folder / name
        try:
            # Network file systems refresh a file when it is opened. A FIFO must not wait for a writer.
            file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return True
        try:
            if stat.S_ISDIR(os.fstat(file).st_mode):  # no process creates a folder here
                return True
            is_here = os.read(file, 256) == kernel()
            if is_here and lock_file(file, shared=True):
                return True
            # A process that holds its lock is alive. Its file looks old for a moment after this machine slept.
            changed_ns = os.fstat(file).st_mtime_ns
            return (if_stopped or not is_here) and self.is_silent(path, changed_ns, is_watched=is_here)
        finally:
            os.close(file)

    def is_silent(self, path: Path, changed_ns: int, *, is_watched: bool = False) -> bool:
        """Return True if a file has not changed for a lease period.

        `changed_ns` is its last change by the file system's clock. A very old file counts as unchanged without waiting,
        unless `is_watched`.
        """
        now = time.monotonic()
        seen = self._seen.setdefault(path, _Observation(changed_ns, now, now))
        # After a long pause of this process, watching starts again: the other one may have been stopped with it.
        if seen.changed_ns != changed_ns or now - seen.until > self.lease_s / 2:
            seen.changed_ns, seen.since = changed_ns, now
        seen.until = now
        own_changed_ns = self.own_path.stat().st_mtime_ns if self.may_write else time.time_ns()
        is_long_gone = not is_watched and own_changed_ns - changed_ns > _SURELY_DEAD_S * 1e9
        return now - seen.since > self.lease_s or is_long_gone

    def has_others(self) -> bool:
        """Return True if another process writes here, or may continue to.

        Raises OSError if a heartbeat cannot be read.
        """
        try:
            return any(
                not heartbeat.is_own(path.name) and not self.is_dead(path.name) for path in self._folder.iterdir()
            )
        except FileNotFoundError:
            return False

    def remove_dead_heartbeats(self) -> None:
        """Remove the heartbeat files of processes that have ended."""
        with suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                if self.is_dead(path.name):
                    with suppress(PermissionError, IsADirectoryError):  # another user's file, or a folder
                        path.unlink(missing_ok=True)
