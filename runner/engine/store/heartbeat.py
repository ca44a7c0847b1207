"""The signs of life that this process gives: one file per store, touched every few seconds by one thread for all.

The thread rests while the process forks, so that a fork meets no other thread, and holds no lock that a child would
wait for. A child begins anew, under names of its own.
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
from weakref import WeakSet

from runner.engine.store.locks import shared_mode

if sys.platform != "win32":
    import fcntl

_REST_WITHIN_S = 1.0


@dataclass
class _Sign:
    """A file, the descriptor that holds the system's lock on it, and those who want it kept up."""

    path: Path
    descriptor: int
    users: "WeakSet[object]" = field(default_factory=WeakSet)

    def end(self) -> None:
        """Who waits for this process sees at once that it has ended."""
        with suppress(OSError):  # gone with its store; or it is found dead later
            self.path.unlink()
        os.close(self.descriptor)


class Heartbeat:
    """Of one process."""

    def __init__(self) -> None:
        self._begin_empty()

    def _begin_empty(self) -> None:
        self._changing = threading.Lock()
        self._signs: dict[Path, _Sign] = {}
        self._interval_s = float("inf")
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def name_in(self, folder: Path, interval_s: float, user: object) -> str:
        """Of this process's file in a folder, which is touched as long as the user is there. Raises OSError."""
        with self._changing:
            sign = self._signs.get(folder) or self._begin(folder, interval_s)
            sign.users.add(user)
            return sign.path.name

    def _begin(self, folder: Path, interval_s: float) -> _Sign:
        for unused in [other for other, sign in self._signs.items() if not sign.users]:
            self._signs.pop(unused).end()
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(PermissionError):  # another user was faster, and does the same
                folder.chmod(stat.S_IMODE(folder.parent.stat().st_mode))  # whoever may write beside it may give signs
        self._signs[folder] = _begun(folder / _new_name())
        if self._thread is None or interval_s < self._interval_s:
            self._rest()
            self._interval_s = min(interval_s, self._interval_s)
            self._go_on()
        return self._signs[folder]

    def is_own(self, name: str) -> bool:
        """Whether this process goes by that name, in any store."""
        return any(sign.path.name == name for sign in list(self._signs.values()))

    @property
    def n_threads(self) -> int:
        """Those that are gone whenever this process forks, and there again behind it."""
        return int(self._thread is not None)

    def before_fork(self) -> None:
        """Until `after_fork` there is no thread, and nobody begins one."""
        self._changing.acquire()
        self._rest()

    def after_fork(self) -> None:
        """For the process that forked."""
        if self._signs:
            self._go_on()
        self._changing.release()

    def forget(self) -> None:
        """For the child: the files are its parent's."""
        for sign in self._signs.values():
            os.close(sign.descriptor)
        self._begin_empty()

    def end(self) -> None:
        """Removes the files."""
        with self._changing:
            self._rest()
            while self._signs:
                self._signs.popitem()[1].end()

    def _go_on(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(self._stop,), name="store-heartbeat", daemon=True)
        self._thread.start()

    def _rest(self) -> None:
        if self._thread:
            self._stop.set()
            self._thread.join(_REST_WITHIN_S)  # a file system that hangs must not hang the process
            self._thread = None

    def _beat(self, stop: threading.Event) -> None:
        while not stop.wait(self._interval_s):
            for folder, sign in list(self._signs.items()):
                try:
                    os.utime(sign.path)
                except FileNotFoundError:  # believed dead and cleared away, or the whole store is gone
                    self._begin_again(folder, sign)
                except OSError:  # a network that is gone for a while: whoever waits may believe this process gone
                    continue

    def _begin_again(self, folder: Path, sign: _Sign) -> None:
        if not self._changing.acquire(blocking=False):
            return  # at the next beat: whoever is changing something may be waiting for this thread to rest
        try:
            if self._signs.get(folder) is sign:
                try:
                    self._signs[folder] = replace(sign, descriptor=_begun(sign.path).descriptor)
                except OSError:  # the whole store is gone
                    del self._signs[folder]
                os.close(sign.descriptor)
        finally:
            self._changing.release()


def _new_name() -> str:
    """Host and process are for people who look."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', platform.node())[:40]}-{os.getpid()}-{uuid.uuid4().hex[:16]}"


def _begun(path: Path) -> _Sign:
    """A locked file that names the kernel which the lock is known to. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        path.chmod(shared_mode(path.parent))
        if locked(descriptor):
            os.write(descriptor, kernel())
    except BaseException:
        os.close(descriptor)
        raise
    return _Sign(path, descriptor)


heartbeat = Heartbeat()
"""Of this process: one that is forked has it empty."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=heartbeat.before_fork, after_in_parent=heartbeat.after_fork, after_in_child=heartbeat.forget
    )
atexit.register(heartbeat.end)


def locked(descriptor: int, *, shared: bool = False) -> bool:
    """Takes the system's lock on an open file, which goes with the process; False if another has it or there are none.

    It goes too when the process closes any descriptor of that file: a process must not open its own again.
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
    """What tells this running system from others, containers on it not from one another."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    return platform.node().encode()
