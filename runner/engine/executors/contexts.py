"""How worker processes are started: forked where that is safe, which is fast, and otherwise as new interpreters."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext, SpawnContext, SpawnProcess
from types import ModuleType


def fork_or_spawn() -> BaseContext:
    """Forked workers have imported everything already and are there at once.

    A process that runs other threads must not be forked: a lock that one of them holds would be held for ever. Nor one
    in which CUDA may be up, or OpenMP: its threads are gone after a fork, and the first parallel loop waits for them.
    """
    from threadpoolctl import threadpool_info

    is_safe = (
        os.name == "posix"
        and threading.active_count() == 1
        and "torch" not in sys.modules
        and all(library["user_api"] != "openmp" for library in threadpool_info())
    )
    return multiprocessing.get_context("fork") if is_safe else SpawnWithoutMain()


class _Process(SpawnProcess):
    def start(self) -> None:
        """Starts it."""
        with _main_hidden():
            super().start()


class SpawnWithoutMain(SpawnContext):
    """New interpreters that do not run the main module again: that may be a script without `if __name__ ==
    "__main__"`, which would start the whole sweep anew in every worker. What it defines is not there in them.
    """

    Process = _Process


@contextmanager
def _main_hidden() -> Iterator[None]:
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # without a file or a spec there is nothing to run
    try:
        yield
    finally:
        sys.modules["__main__"] = main
