"""Runs `python -m <module>` for tests, as a fork of a process that has already loaded all modules.

It is the command all the same: a process of its own with its own arguments, environment, working directory, output,
signals and exit code. What starting Python itself does, such as where modules are looked for, is for tests that use
`subprocess`.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

from filelock import FileLock

from tests.fork_server import PLACE, lock_of

REPOSITORY = Path(__file__).resolve().parents[1]


class _Server:
    """A connection to the fork server. All processes of pytest-xdist share the server, and the first one starts it."""

    def __init__(self) -> None:
        place = Path(os.environ[PLACE])
        self._started: subprocess.Popen[bytes] | None = None
        self.orders = socket.socket(socket.AF_UNIX)
        with FileLock(lock_of(place)):  # the server cannot end between these two steps
            if not place.exists():
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(str(place))
                    listener.listen()
                    self._started = self._start(listener)
            self.orders.connect(str(place))

    def _start(self, listener: socket.socket) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        command = [sys.executable, "-m", "tests.fork_server"]
        return subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdin=listener, start_new_session=True)

    def stop(self) -> None:
        """Disconnect. The client that started the server waits until the other clients have disconnected."""
        self.orders.close()
        if self._started is not None:
            self._started.wait()


_server = cache(_Server)


def stop_server() -> None:
    """Stop the fork server if it runs and no other process uses it."""
    if _server.cache_info().currsize:
        _server().stop()
        _server.cache_clear()


class ForkedCommand:
    """The part of `subprocess.Popen` that the tests need, for a command in a separate process group."""

    def __init__(self, module: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Starts it in `folder`."""
        self.args = [module, *arguments]
        self.returncode: int | None = None
        self._files = [TemporaryFile("w+", encoding="utf-8") for _ in range(2)]  # noqa: SIM115 - read at its end
        channel, theirs = socket.socketpair()
        with theirs:
            files = [*(file.fileno() for file in self._files), theirs.fileno()]
            socket.send_fds(_server().orders, [b"1"], files)
        self._lines = channel.makefile("rw", buffering=1)
        self._channel = channel
        order = {"module": module, "arguments": arguments, "folder": str(folder), "environment": dict(environment)}
        self._lines.write(json.dumps(order) + "\n")
        self.pid = int(self._lines.readline())

    def poll(self, timeout_s: float = 0) -> int | None:
        """The exit code, or minus the signal that ended it; None while it runs."""
        if self.returncode is None and select.select([self._channel], [], [], timeout_s)[0]:
            self.returncode = int(self._lines.readline())
            self._lines.close()
            self._channel.close()
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Return its output and its errors after it has ended. Raises subprocess.TimeoutExpired."""
        if self.poll(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        texts = []
        for file in self._files:
            file.seek(0)
            texts.append(file.read())
            file.close()
        return texts[0], texts[1]

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal only to the process, not to its group."""
        if self.poll() is None:
            os.kill(self.pid, number)


def run_forked(
    module: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end. On a timeout, kill its whole group and raise subprocess.TimeoutExpired."""
    process = ForkedCommand(module, arguments, folder, environment)
    try:
        output, errors = process.communicate(timeout_s)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode is not None, "it has ended"
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
