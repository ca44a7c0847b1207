"""Servers that we start, share among processes, and stop when no process uses them any more.

Each server has a supervisor process (`components.openai_server.supervisor`). A process that uses the server holds a
shared file lock for its lifetime. The kernel releases the lock when the process ends, even by SIGKILL. When no process
holds the lock, the supervisor stops the server.
"""

import fcntl
import logging
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

from components.errors import ComponentError
from components.openai_server.look_up import LookUpFailed, fetch_body
from components.secrets.mask import mask_text

log = logging.getLogger(__name__)

USERS, ADDRESS, LOG = "users", "address", "server.log"
_LOOK_EVERY_S = 0.2
_HEALTH_TIMEOUT_S = 5.0
_STOPPED_WITHIN_S = 60.0
_SHOWN_LINES = 5
_REPORT_AFTER_S = 2.0

_held: dict[Path, IO[bytes]] = {}
"""Locks of this process by folder, held until it ends."""
_supervisors: list["subprocess.Popen[bytes]"] = []
"""Supervisors started by this process. They outlive it."""


def ensure_server(command: Callable[[int], Sequence[str]], folder: Path, start_timeout_s: float) -> str:
    """Return the address of a running server, e.g. "http://127.0.0.1:41234"; start the server if necessary.

    The server must answer at /health. `command` returns the command line for a port. `folder` identifies the server and
    contains its log. Raises ComponentError with the end of the log if the server ends or is not healthy in time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _start_lock(folder):
        _hold(folder)
        address_file = folder / ADDRESS
        if address_file.exists() and _is_healthy(address := address_file.read_text(encoding="ascii")):
            return address
        address_file.unlink(missing_ok=True)
        address = _start(command, folder, start_timeout_s)
        address_file.write_text(address, encoding="ascii")
        return address


@contextmanager
def _start_lock(folder: Path) -> Iterator[None]:
    """Hold the lock for starting the server. Log a warning if another process holds it."""
    lock = FileLock(folder / "start.lock")
    try:
        lock.acquire(timeout=_REPORT_AFTER_S)
    except Timeout:
        log.warning("waiting for another process, which is starting the same server; its log is %s", folder / LOG)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def release_servers() -> None:
    """Release all servers of this process, so that others can use their memory.

    Returns when the servers started here have stopped, or after a minute if another process still uses them.
    """
    for file in _held.values():
        file.close()
    _held.clear()
    limit = time.monotonic() + _STOPPED_WITHIN_S
    for process in _supervisors:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, limit - time.monotonic()))
    _supervisors[:] = [process for process in _supervisors if process.poll() is None]


def _hold(folder: Path) -> None:
    if folder not in _held:
        file = (folder / USERS).open("wb")
        fcntl.flock(file, fcntl.LOCK_SH)
        _held[folder] = file


def _start(command: Callable[[int], Sequence[str]], folder: Path, start_timeout_s: float) -> str:
    port = _free_port()
    address, log = f"http://127.0.0.1:{port}", folder / LOG
    supervisor = [sys.executable, "-m", "components.openai_server.supervisor", str(folder), *command(port)]
    root = Path(__file__).resolve().parents[2]
    with log.open("ab") as written:
        # A separate session: Ctrl-C in the terminal reaches the users of the server, and the server through them.
        process = subprocess.Popen(  # noqa: S603 - the command is what the configuration names
            supervisor, stdin=subprocess.DEVNULL, stdout=written, stderr=written, start_new_session=True, cwd=root
        )
    _supervisors.append(process)
    limit = time.monotonic() + start_timeout_s
    try:
        while not _is_healthy(address):
            if process.poll() is not None:
                raise ComponentError(
                    f"the server ended before it was healthy, expected an answer at {address}/health. {_log_end(log)}"
                )
            if time.monotonic() > limit:
                process.terminate()
                process.wait()
                raise ComponentError(
                    f"the server was not healthy within start_timeout_s={start_timeout_s:g}, expected an answer "
                    f"at {address}/health. {_log_end(log)}"
                )
            time.sleep(_LOOK_EVERY_S)
    except KeyboardInterrupt:  # a notebook goes on afterwards, and would start a server in addition to this one
        process.terminate()
        raise
    return address


def _is_healthy(address: str) -> bool:
    try:
        fetch_body(f"{address}/health", _HEALTH_TIMEOUT_S, uses_proxy=False)
    except LookUpFailed:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _log_end(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_SHOWN_LINES:]
    return mask_text(f"Its log, {log}, ends with: {' | '.join(lines) or '(nothing)'}")
