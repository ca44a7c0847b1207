"""Worker processes: new interpreters that do not run the main module again and that end with their parent."""

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
        with _hide_main():
            super().start()


class SpawnWithoutMain(SpawnContext):
    """Spawn context whose new interpreters do not run the main module again.

    The main module may be a script without `if __name__ == "__main__"`, which would start the whole sweep again in
    every worker. Workers therefore cannot use definitions of the main module.
    """

    Process = _Process


@contextmanager
def _hide_main() -> Iterator[None]:
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # without a file or a spec there is nothing to run
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def end_with_parent() -> None:
    """End this process as soon as its parent has ended for any reason, because then no process reads its results."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"
    parent.join()
    os._exit(1)
