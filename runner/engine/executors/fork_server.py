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

from runner.engine.endings import OF_TERMINALS, endings_deferred


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
        self._n_started = 0

    def start(self, work: Callable[..., None], start: object) -> tuple["ForkedWorker", Connection]:
        """A new worker that calls `work` with `start` and its end of a pipe, and our end. It has the environment, the
        folder and the search path that are this process's now.

        Raises OSError if the server is gone, and what pickling raises if `start` cannot be sent.
        """
        order = dict(os.environ), Path.cwd(), sys.path, pickle.dumps((work, start))
        ours, theirs = multiprocessing.Pipe()
        self._n_started += 1
        with theirs:
            self._orders.send((self._n_started, order))
            send_handle(self._orders, theirs.fileno(), self._process.pid)
        return ForkedWorker(self._orders, self._n_started), ours

    def end(self) -> None:
        """Ends the server, whatever it does. May be called again."""
        self._process.kill()
        self._process.join()


class ForkedWorker:
    """A worker that the server forked."""

    def __init__(self, orders: Connection, number: int) -> None:
        self._orders = orders
        self._number = number

    def end(self) -> int:
        """Ends the worker, whatever it does; returns its exit code."""
        with endings_deferred(), suppress(OSError, EOFError):  # the server was killed, and the worker ends with it
            self._orders.send((self._number, None))
            exit_code: int = self._orders.recv()
            return exit_code
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
    context = multiprocessing.get_context("fork")
    workers: dict[int, BaseProcess] = {}
    while True:
        try:
            number, order = orders.recv()
        except (EOFError, OSError):  # it ended that would read what the workers make
            os._exit(0)
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
        with suppress(OSError):  # workers are started without it
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
