"""A fork server: one process that loads what most workers need, and then forks the workers.

Otherwise each worker would load the same packages and vocabularies, which takes seconds of CPU time, and would start
only after the configuration is read and the sweep is planned. The fork server is forked from the command as soon as the
runner is loaded, when no other threads could break a fork. It keeps loading until the first worker is requested.
"""

import atexit
import gc
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path

from runner.console.ending_signals import TERMINAL_SIGNALS, defer_ending_signals

_PATIENCE_S = 5.0
"""Seconds to wait for an answer of the server. After that it is abandoned, and workers start without it."""


class ForkServer:
    """A process that forks workers, which end with it. It ends with this process."""

    def __init__(self, preloads: Sequence[Callable[[], object]]) -> None:
        """The server calls `preloads` until a worker is requested. It ignores their errors, which workers will raise
        again.
        """
        context = multiprocessing.get_context("fork")
        with defer_ending_signals(blocked_in_children=TERMINAL_SIGNALS):
            self._orders, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(preloads, theirs, self._orders))
            self._process.start()
            theirs.close()
        self._is_ready = False
        self._n_started = 0

    def start(self, work: Callable[..., None], start: object) -> tuple["ForkedWorker", Connection]:
        """Start a worker that calls `work` with `start` and its end of a pipe. Returns the worker and our end.

        The worker gets the current environment, working directory and module search path of this process. Raises
        OSError if the server ended or was abandoned, and any error of pickling `start`.
        """
        self._wait_until_ready()
        order = dict(os.environ), Path.cwd(), sys.path, pickle.dumps((work, start))
        ours, theirs = multiprocessing.Pipe()
        self._n_started += 1
        with theirs:
            self._orders.send((self._n_started, order))
            send_handle(self._orders, theirs.fileno(), self._process.pid)
        return ForkedWorker(self, self._n_started), ours

    def _wait_until_ready(self) -> None:
        if not self._is_ready:
            self._orders.send(None)
            self._answer()
            self._is_ready = True

    def end_worker(self, number: int) -> int:
        """Kill a worker and return its exit code. Raises OSError if the server ended or was abandoned."""
        self._orders.send((number, None))
        return self._answer()

    def _answer(self) -> int:
        if not self._orders.poll(_PATIENCE_S):
            self.end()
            raise TimeoutError(f"the fork server did not answer within {_PATIENCE_S:g} s")
        try:
            answer: int = self._orders.recv()
        except EOFError as ended:
            raise ConnectionResetError("the fork server has ended") from ended
        return answer

    def end(self) -> None:
        """Kill the server. May be called again."""
        self._process.kill()
        self._process.join()


class ForkedWorker:
    """A worker forked by the server."""

    def __init__(self, server: ForkServer, number: int) -> None:
        self._server = server
        self._number = number

    def end(self) -> int:
        """Kill the worker and return its exit code."""
        with defer_ending_signals(), suppress(OSError):  # the server was killed, and the worker with it
            return self._server.end_worker(self._number)
        return -signal.SIGKILL


def _serve(preloads: Sequence[Callable[[], object]], orders: Connection, other_end: Connection) -> None:
    other_end.close()  # the pipe then closes when the command ends
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # signals of terminals do not reach this process
    for load in preloads:
        if orders.poll():
            break
        with suppress(Exception):
            load()
    gc.freeze()  # keeps the garbage collector of workers away from these objects
    # The command ended, or the system has no more processes or files. In the second case, the command then tries to
    # start workers itself and reports the error.
    with suppress(EOFError, OSError, RuntimeError):
        _fork_workers(orders)
    os._exit(0)


def _fork_workers(orders: Connection) -> None:
    orders.recv()
    orders.send(0)  # loading has ended
    context = multiprocessing.get_context("fork")
    workers: dict[int, BaseProcess] = {}
    while True:
        number, order = orders.recv()
        if order is None:
            worker = workers.pop(number)
            worker.kill()  # a process that has just started may not handle SIGTERM yet
            worker.join()
            orders.send(worker.exitcode)
            continue
        with Connection(recv_handle(orders)) as pipe:
            workers[number] = context.Process(target=_work, args=(orders, pipe, *order))
            workers[number].start()


def _work(
    orders: Connection, pipe: Connection, environment: dict[str, str], folder: Path, path: list[str], start: bytes
) -> None:
    orders.close()  # the pipe then closes when the server ends
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:] = path  # unpickling imports modules, which needs this path
    work, argument = pickle.loads(start)  # noqa: S301 - the command pickled it
    work(argument, pipe)


class _EarlyServer:
    server: ForkServer | None = None


def start_early(preloads: Sequence[Callable[[], object]]) -> None:
    """Start the fork server of this process if the system can fork."""
    if os.name == "posix" and not _EarlyServer.server:
        with defer_ending_signals(), suppress(OSError):  # workers also start without a fork server
            _EarlyServer.server = ForkServer(preloads)
            atexit.register(end_early)


def early_server() -> ForkServer | None:
    """Return the fork server if it was started."""
    return _EarlyServer.server


def end_early() -> None:
    """End the fork server, if any, together with its workers. No workers can be forked afterwards."""
    server, _EarlyServer.server = _EarlyServer.server, None
    if server:
        server.end()
