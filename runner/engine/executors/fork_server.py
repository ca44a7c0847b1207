"""Worker processes that have loaded what most need: copies of one process, which loads while the command starts.

A worker of its own loads the same packages and vocabularies as its neighbour, which takes seconds of cores, and none
begins before the configuration is read and the sweep is planned. The fork server is forked from the command as soon as
that has loaded the runner, when nothing runs beside it that a fork could break, and loads on until it is asked for the
first worker.
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

from runner.console.endings import OF_TERMINALS, endings_deferred

_PATIENCE_S = 5.0
"""A server that has not finished what it loads, or says nothing, for so long is given up: workers start without it."""


class ForkServer:
    """A process that forks workers, which end with it. It ends with this process."""

    def __init__(self, preloads: Sequence[Callable[[], object]]) -> None:
        """It calls `preloads` until a worker is wanted; what one of them raises is for workers to find out again."""
        context = multiprocessing.get_context("fork")
        with endings_deferred(kept_from_children=OF_TERMINALS):
            self._orders, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(preloads, theirs, self._orders))
            self._process.start()
            theirs.close()
        self._is_ready = False
        self._n_started = 0

    def start(self, work: Callable[..., None], start: object) -> tuple["ForkedWorker", Connection]:
        """A new worker that calls `work` with `start` and its end of a pipe, and our end. It has the environment, the
        folder and the search path that are this process's now.

        Raises OSError if the server is gone or given up, and what pickling raises if `start` cannot be sent.
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
        """Ends one, whatever it does; returns its exit code. Raises OSError if the server is gone or given up."""
        self._orders.send((number, None))
        return self._answer()

    def _answer(self) -> int:
        if not self._orders.poll(_PATIENCE_S):
            self.end()
            raise TimeoutError(f"the fork server said nothing for {_PATIENCE_S:g} s")
        try:
            answer: int = self._orders.recv()
        except EOFError as ended:
            raise ConnectionResetError("the fork server is gone") from ended
        return answer

    def end(self) -> None:
        """Ends the server, whatever it does. May be called again."""
        self._process.kill()
        self._process.join()


class ForkedWorker:
    """A worker that the server forked."""

    def __init__(self, server: ForkServer, number: int) -> None:
        self._server = server
        self._number = number

    def end(self) -> int:
        """Ends the worker, whatever it does; returns its exit code."""
        with endings_deferred(), suppress(OSError):  # the server was killed, and the worker ends with it
            return self._server.end_worker(self._number)
        return -signal.SIGKILL


def _serve(preloads: Sequence[Callable[[], object]], orders: Connection, other_end: Connection) -> None:
    other_end.close()  # so that the end of the command is the end of the pipe
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # those of terminals do not come here
    for load in preloads:
        if orders.poll():
            break
        with suppress(Exception):
            load()
    gc.freeze()  # no worker looks through all this again
    # Once nobody is there to read what workers make. Or no more processes or files can be had: the command tries that
    # by itself then, and says what is wrong.
    with suppress(EOFError, OSError, RuntimeError):
        _fork_workers(orders)
    os._exit(0)


def _fork_workers(orders: Connection) -> None:
    orders.recv()
    orders.send(0)  # nothing is loaded any more
    context = multiprocessing.get_context("fork")
    workers: dict[int, BaseProcess] = {}
    while True:
        number, order = orders.recv()
        if order is None:
            worker = workers.pop(number)
            worker.kill()  # one that has just been started may not hear SIGTERM yet
            worker.join()
            orders.send(worker.exitcode)
            continue
        with Connection(recv_handle(orders)) as pipe:
            workers[number] = context.Process(target=_work, args=(orders, pipe, *order))
            workers[number].start()


def _work(
    orders: Connection, pipe: Connection, environment: dict[str, str], folder: Path, path: list[str], start: bytes
) -> None:
    orders.close()  # so that the end of the server is the end of the pipe
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:] = path  # before anything is imported of what it starts with
    work, argument = pickle.loads(start)  # noqa: S301 - what the command has pickled
    work(argument, pipe)


class _Early:
    server: ForkServer | None = None


def start_early(preloads: Sequence[Callable[[], object]]) -> None:
    """Starts the server of this process, where processes can be forked."""
    if os.name == "posix" and not _Early.server:
        with endings_deferred(), suppress(OSError):  # workers are started without it
            _Early.server = ForkServer(preloads)
            atexit.register(end_early)


def early() -> ForkServer | None:
    """The server that was started, if any."""
    return _Early.server


def end_early() -> None:
    """Ends that server, if it is there, and the workers with it: nothing is there to be forked any more."""
    server, _Early.server = _Early.server, None
    if server:
        server.end()
