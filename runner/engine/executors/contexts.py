"""Start of worker processes: by a fork where that is safe and therefore fast, otherwise as new interpreters."""

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

from components.child_processes import SpawnWithoutMain
from components.threads import n_cores
from runner.engine.executors import fork_server
from runner.engine.store.heartbeat import heartbeat

S = TypeVar("S")

log = logging.getLogger(__name__)


def warn_if_crowded(n_workers: int) -> None:
    """Log a warning if `n_workers` exceeds the number of cores of this machine."""
    if n_workers > n_cores():
        log.warning(
            "run.workers: %d worker processes share the %d cores of this machine, and each needs memory and "
            "loads the models separately. More workers than cores save time only if stages wait for servers.",
            n_workers,
            n_cores(),
        )


def fork_or_spawn() -> BaseContext:
    """Return the fork context if a fork is safe, otherwise the spawn context.

    Forked workers have imported everything already and start immediately. A process with other threads must not fork,
    because a lock that one of them holds would stay locked in the child. A process with CUDA or OpenMP must not fork
    either: OpenMP's threads are missing after a fork, and the first parallel loop would wait for them.
    """
    from threadpoolctl import threadpool_info

    is_safe = (
        os.name == "posix"
        and threading.active_count() - heartbeat.n_threads == 1  # the heartbeat thread stops during a fork
        and "torch" not in sys.modules
        and "obstore" not in sys.modules  # obstore's threads are not Python's, so that active_count() misses them
        and all(library["user_api"] != "openmp" for library in threadpool_info())
    )
    return multiprocessing.get_context("fork") if is_safe else SpawnWithoutMain()


class WorkerProcess(Protocol):
    """A worker process, forked or spawned."""

    def end(self) -> int:
        """Kill the process. Returns its exit code; a negative one is the signal that killed it."""


def start_worker(work: Callable[[S, Connection], None], start: S) -> tuple[WorkerProcess, Connection]:
    """Start a process that calls `work` with `start` and its end of a pipe. Returns the process and our end.

    Our end reaches end-of-file when the process ends.
    """
    if server := fork_server.early_server():
        with suppress(Exception):  # the server was killed, or `start` can be forked but not pickled
            return server.start(work, start)
    context = fork_or_spawn()
    ours, theirs = context.Pipe()
    with theirs:
        process = context.Process(target=work, args=(start, theirs))  # type: ignore[attr-defined]
        process.start()
    return _StartedProcess(process), ours


class _StartedProcess(WorkerProcess):
    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    def end(self) -> int:
        self._process.kill()  # a process that has just started may not handle SIGTERM yet
        self._process.join()
        return self._process.exitcode or 0
