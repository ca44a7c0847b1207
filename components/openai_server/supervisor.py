"""Supervisor of a server while processes use it: `python -m components.openai_server.supervisor FOLDER COMMAND...`.

See `components.openai_server.managed_servers`. It ends with the server, and the server ends with it.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from components.openai_server.managed_servers import ADDRESS, USERS

_LOOK_EVERY_S = 0.5
_STOPS_WITHIN_S = 20.0
_PR_SET_PDEATHSIG = 1


def supervise(folder: Path, command: Sequence[str]) -> int:
    """Run the server until it ends or has no users. Return its exit code.

    The process that started it announces its address once it is healthy. If it ends before that, no other process knows
    the server, whatever locks it holds. The next one starts a new server, which may need the same memory.
    """
    starter, is_announced = os.getppid(), False
    server = subprocess.Popen(list(command), preexec_fn=_end_with_parent, start_new_session=True)  # noqa: S603
    signal.signal(signal.SIGTERM, lambda *_: _stop(server))
    with (folder / USERS).open("rb") as users:
        while server.poll() is None:
            time.sleep(_LOOK_EVERY_S)
            is_announced = is_announced or (folder / ADDRESS).exists()
            is_abandoned = not is_announced and os.getppid() != starter
            if is_abandoned or _is_unused(users.fileno()):
                _stop(server)
        if is_announced:  # otherwise it may be the address of the next server
            (folder / ADDRESS).unlink(missing_ok=True)
    return server.wait()


def _is_unused(users: int) -> bool:
    """Return True if no process uses the server. The lock is then held, so that a new user waits until the server has
    ended, and starts another.
    """
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """Stop the server and its child processes."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if server.poll() is not None:
            return
        os.killpg(server.pid, how)
        try:
            server.wait(_STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            continue


def _end_with_parent() -> None:
    """Make Linux kill the server if its supervisor is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(supervise(Path(sys.argv[1]), sys.argv[2:]))
