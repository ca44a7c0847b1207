"""Who writes into a store: every process under a name of its own, with a sign of life that other hosts see too.

    <root>/writers/<name>   touched every few seconds; locked by its process, where the file system has locks

Whoever waits for a process believes it gone once its file has not changed for the time of a lease, by the clock of who
waits: it was stopped, or its host is dead or cut off. On its own host its end is seen at once, however it came. One
that goes on after it was believed gone does no harm: no result hangs on who is believed to live.
"""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runner.engine.store.heartbeat import heartbeat, kernel, locked

LEASE_S = 20.0
"""Longer than healthy processes pause, and than network file systems take to show that a file changed."""

LOOKS_PER_LEASE = 8
"""At least, by who waits: who looks too seldom does not know whether both stood still meanwhile, and never believes
anybody gone.
"""

_BEATS_PER_LEASE = 4
_LONG_GONE_S = 3600.0
"""Nobody lives whose file is so much older than one just touched: this needs no watching."""


@dataclass
class _Seen:
    """When a file had last changed, by its own clock, and since when and until when it was seen so by ours."""

    changed_ns: int
    since: float
    until: float


class Writers:
    """Those of one store."""

    def __init__(self, folder: Path, lease_s: float = LEASE_S, *, may_write: bool = True) -> None:
        """The folder is made for the first of them. All who share a store must have the same `lease_s`.

        Without `may_write` this process gives no sign of life, and compares files with its own clock.
        """
        self._folder = folder
        self.lease_s = lease_s
        self.may_write = may_write
        self._seen: dict[Path, _Seen] = {}

    @property
    def own_name(self) -> str:
        """That of this process, which is seen to live from now on. Raises OSError."""
        return heartbeat.name_in(self._folder, self.lease_s / _BEATS_PER_LEASE, self)

    @property
    def own_path(self) -> Path:
        """The file of this process. Raises OSError."""
        return self._folder / self.own_name

    def is_gone(self, name: str) -> bool:
        """Whether a process has ended, or was not seen alive for a lease while others looked. Raises OSError."""
        return self._is_gone(name, if_stopped=True)

    def has_ended(self, name: str) -> bool:
        """As `is_gone`, but of a process of this host that was only stopped (Ctrl-Z) False: it may go on at any time.
        Raises OSError.
        """
        return self._is_gone(name, if_stopped=False)

    def _is_gone(self, name: str, *, if_stopped: bool) -> bool:
        if heartbeat.is_own(name):
            return False
        path = self._folder / name
        try:
            # Network file systems look anew when a file is opened. A FIFO must not wait for a writer.
            file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return True
        try:
            is_here = os.read(file, 256) == kernel()
            if is_here and locked(file, shared=True):
                return True
            # One that holds its lock lives. Its file looks old for a moment when this machine wakes from a sleep.
            changed_ns = os.fstat(file).st_mtime_ns
            return (if_stopped or not is_here) and self.is_silent(path, changed_ns, is_watched=is_here)
        finally:
            os.close(file)

    def is_silent(self, path: Path, changed_ns: int, *, is_watched: bool = False) -> bool:
        """Whether a file that last changed at that time, by its own clock, has not changed for a lease. Unless it
        `is_watched` for that long, one that is very old has not.
        """
        now = time.monotonic()
        seen = self._seen.setdefault(path, _Seen(changed_ns, now, now))
        # After a long pause of ours it is watched anew: what stopped this process may have stopped the other one too.
        if seen.changed_ns != changed_ns or now - seen.until > self.lease_s / 2:
            seen.changed_ns, seen.since = changed_ns, now
        seen.until = now
        own_changed_ns = self.own_path.stat().st_mtime_ns if self.may_write else time.time_ns()
        is_long_gone = not is_watched and own_changed_ns - changed_ns > _LONG_GONE_S * 1e9
        return now - seen.since > self.lease_s or is_long_gone

    def clear_away(self) -> None:
        """Removes the files of those that have ended."""
        with suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                if self.has_ended(path.name):
                    with suppress(PermissionError):  # another user's
                        path.unlink(missing_ok=True)
