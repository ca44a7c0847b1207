"""How worker processes are started: forked where that is safe, which is fast, and otherwise as new interpreters."""

import logging
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Protocol, TypeVar

from components.processes import SpawnWithoutMain
from components.threads import n_cores
from runner.engine.executors import fork_server
from runner.engine.store.heartbeat import heartbeat

S = TypeVar("S")

log = logging.getLogger(__name__)


def say_if_crowded(n_workers: int) -> None:
    """For an executor that is about to start so many on this machine."""
    if n_workers > n_cores():
        log.warning(
            "run.workers: %d worker processes are more than this machine has cores (%d), which they share; each takes "
            "memory and loads models for itself. That saves time only where stages wait for servers",
            n_workers,
            n_cores(),
        )


def fork_or_spawn() -> BaseContext:
    """Forked workers have imported everything already and are there at once.

    A process that runs other threads must not be forked: a lock that one of them holds would be held for ever. Nor one
    in which CUDA may be up, or OpenMP: its threads are gone after a fork, and the first parallel loop waits for them.
    """
    from threadpoolctl import threadpool_info

    is_safe = (
        os.name == "posix"
        and threading.active_count() - heartbeat.n_threads == 1  # that one rests meanwhile
        and "torch" not in sys.modules
        and "obstore" not in sys.modules  # its threads are not Python's
        and all(library["user_api"] != "openmp" for library in threadpool_info())
    )
    return multiprocessing.get_context("fork") if is_safe else SpawnWithoutMain()


class WorkerProcess(Protocol):
    """A worker process, however it was started."""

    def end(self) -> int:
        """Ends it, whatever it does; returns its exit code, below 0 the signal that killed it."""


def start_worker(work: Callable[[S, Connection], None], start: S) -> tuple[WorkerProcess, Connection]:
    """A process that calls `work` with `start` and its end of a pipe, and our end: that of the process is its end."""
    if server := fork_server.early():
        with suppress(Exception):  # the server was killed, or `start` cannot be pickled: not all that forks can be
            return server.start(work, start)
    context = fork_or_spawn()
    ours, theirs = context.Pipe()
    with theirs:
        process = context.Process(target=work, args=(start, theirs))  # type: ignore[attr-defined]
        process.start()
    return _Started(process), ours


class _Started(WorkerProcess):
    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    def end(self) -> int:
        self._process.kill()  # one that has just been started may not hear SIGTERM yet
        self._process.join()
        return self._process.exitcode or 0
