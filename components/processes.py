"""Worker processes: new interpreters that do not run the main module again, and that end with whoever started them."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType


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


def end_with_parent() -> None:
    """From now on this process ends when the one that started it does, however that ends, and whatever this one does
    then: nobody reads the results of an orphan.
    """
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has one"
    parent.join()
    os._exit(1)
