"""Heartbeats of this process: one file per store, touched every few seconds by one thread for all of them.

The thread stops while the process forks. The fork then finds no other thread, and no lock that the child would wait for
forever. A child starts without heartbeats and uses new names.
"""

import atexit
import os
import platform
import re
import stat
import sys
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Protocol
from weakref import ReferenceType, WeakSet, ref

from runner.engine.store.locks import shared_mode

if sys.platform != "win32":
    import fcntl

_STOP_WITHIN_S = 1.0


@dataclass
class _HeartbeatFile:
    """A heartbeat file, the descriptor that holds the system's lock on it, and the objects that need the heartbeat."""

    path: Path
    descriptor: int
    users: "WeakSet[object]" = field(default_factory=WeakSet)

    def end(self) -> None:
        """Remove the file, so that waiting processes notice immediately that this one has ended."""
        with suppress(OSError):  # the file was deleted with its store, or will be presumed dead later
            self.path.unlink()
        os.close(self.descriptor)


class HeartbeatTask(Protocol):
    """An object that does some work every few seconds."""

    def beat(self) -> None:
        """Do the work, in the thread of the heartbeats. Must not raise an exception."""


class Heartbeat:
    """Heartbeats of one process, at most one per folder. One thread touches all files."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._changing = threading.Lock()
        self._files: dict[Path, _HeartbeatFile] = {}
        self._beating_references: tuple[ReferenceType[HeartbeatTask], ...] = ()
        self._interval_s = float("inf")
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def start_file(self, folder: Path, interval_s: float, user: object) -> str:
        """Return the name of this process's file in a folder. The file is touched as long as `user` exists.

        Raises OSError if it cannot be written.
        """
        with self._changing:
            file = self._files.get(folder) or self._begin(folder, interval_s)
            file.users.add(user)
            return file.path.name

    def _begin(self, folder: Path, interval_s: float) -> _HeartbeatFile:
        for unused in [other for other, file in self._files.items() if not file.users]:
            self._files.pop(unused).end()
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(PermissionError):  # another user created it, with the same permissions
                # Users who can write next to the folder can then write heartbeats.
                folder.chmod(stat.S_IMODE(folder.parent.stat().st_mode))
        self._files[folder] = _create_file(folder / _new_name())
        if self._thread is None or interval_s < self._interval_s:
            self._stop_thread()
            self._interval_s = min(interval_s, self._interval_s)
            self._start_thread()
        return self._files[folder]

    def call(self, beating: HeartbeatTask) -> None:
        """Call an object at each beat, as long as it exists."""
        with self._changing:
            self._beating_references = (*(each for each in self._beating_references if each()), ref(beating))

    def is_own(self, name: str) -> bool:
        """Return True if this process has that name, in any store."""
        return any(file.path.name == name for file in list(self._files.values()))

    @property
    def n_threads(self) -> int:
        """Number of heartbeat threads, which stop before a fork and start again after it."""
        return int(self._thread is not None)

    def before_fork(self) -> None:
        """Stop the thread. No thread runs or starts until `after_fork`."""
        self._changing.acquire()
        self._stop_thread()

    def after_fork(self) -> None:
        """Start the thread again in the parent."""
        if self._files:
            self._start_thread()
        self._changing.release()

    def forget(self) -> None:
        """Reset the child, because the files belong to its parent."""
        for file in self._files.values():
            os.close(file.descriptor)
        self._reset()

    def end(self) -> None:
        """Stop the thread and remove all files, so that waiting processes notice the end immediately."""
        with self._changing:
            self._stop_thread()
            while self._files:
                self._files.popitem()[1].end()

    def _start_thread(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(self._stop,), name="store-heartbeat", daemon=True)
        self._thread.start()

    def _stop_thread(self) -> None:
        if self._thread:
            self._stop.set()
            if self._thread.is_alive():  # not if an interrupt came before its start
                self._thread.join(_STOP_WITHIN_S)  # a hanging file system must not hang the process
            self._thread = None

    def _beat(self, stop: threading.Event) -> None:
        while not stop.wait(self._interval_s):
            for folder, file in list(self._files.items()):
                try:
                    os.utime(file.path)
                except FileNotFoundError:  # the heartbeat was presumed dead and removed, or the whole store was deleted
                    self._recreate(folder, file)
                except OSError:  # the network is down: other processes may presume this one dead
                    continue
            for reference in self._beating_references:
                if beating := reference():
                    beating.beat()

    def _recreate(self, folder: Path, file: _HeartbeatFile) -> None:
        if not self._changing.acquire(blocking=False):
            return  # try at the next beat: the lock's holder may be waiting for this thread to stop
        try:
            if self._files.get(folder) is file:
                try:
                    self._files[folder] = replace(file, descriptor=_create_file(file.path).descriptor)
                except OSError:  # the whole store was deleted
                    del self._files[folder]
                os.close(file.descriptor)
        finally:
            self._changing.release()


def _new_name() -> str:
    """Return a unique name. It begins with host and process, for people who inspect the folder."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', platform.node())[:40]}-{os.getpid()}-{uuid.uuid4().hex[:16]}"


def _create_file(path: Path) -> _HeartbeatFile:
    """Create a locked file with the identifier of this kernel: only the same kernel sees the lock.

    Raises OSError if the file cannot be written.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        path.chmod(shared_mode(path.parent))
        if lock_file(descriptor):
            os.write(descriptor, kernel())
    except BaseException:
        os.close(descriptor)
        raise
    return _HeartbeatFile(path, descriptor)


heartbeat = Heartbeat()
"""Heartbeats of this process. Empty after a fork."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=heartbeat.before_fork, after_in_parent=heartbeat.after_fork, after_in_child=heartbeat.forget
    )
atexit.register(heartbeat.end)


def lock_file(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file until the process ends. Returns False if another process holds it or the system has no such
    locks.

    The lock also ends when the process closes any descriptor of that file. A process must therefore not open a file
    again that it has locked.
    """
    if sys.platform == "win32":
        return False
    try:
        fcntl.lockf(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@cache
def kernel() -> bytes:
    """Return an identifier of the running kernel. Containers on one machine share it."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    return platform.node().encode()
