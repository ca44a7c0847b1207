"""Stages that run in worker processes. Separate from the tests, whose modules load far more than a worker needs."""

import logging
import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np

from runner.engine.executors import contexts, processes
from runner.engine.executors.fork_server import start_early
from runner.engine.executors.processes import Processes
from runner.engine.schedule import run_stages
from runner.engine.stage_run import Run
from runner.engine.store import Store, StoredResult
from runner.engine.worker import Worker
from tests.runner.engine.fake_stages import Adder, Left, Right, Source, Sum, add


def noted(calls: Path) -> list[str]:
    return calls.read_text(encoding="utf-8").split() if calls.exists() else []


def end_this_process(stage: Sum, run: Run) -> int:
    """Kill this process, as the system does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


def die_again(stage: Sum, run: Run) -> int:
    add(stage, run)
    return end_this_process(stage, run)


def die_twice(stage: Sum, run: Run) -> int:
    added = add(stage, run)
    if noted(Path(stage.component.calls)).count(stage.kind) < 3:  # type: ignore[union-attr]  # all have one here
        end_this_process(stage, run)
    return added


def die_beside_a_child(stage: Sum, run: Run) -> int:
    """A pool of processes that outlives its worker."""
    if os.fork() == 0:
        time.sleep(2.0)
        add(stage, run)
        os._exit(0)
    return end_this_process(stage, run)


def add_in_a_while(stage: Sum, run: Run) -> int:
    """Add late, so that concurrent stages end first."""
    time.sleep(0.3)
    return add(stage, run)


def leave(stage: Sum, run: Run) -> int:
    """End the process, which no component should do."""
    os._exit(3)


def exceed_memory(stage: Sum, run: Run) -> int:
    """Leave this process without memory for what follows a stage."""

    def fail(*_: object, **__: object) -> StoredResult:
        raise MemoryError

    Worker._write = fail  # type: ignore[method-assign]
    return 0


def note_process(stage: Sum, run: Run) -> int:
    with Path(stage.component.calls).open("a", encoding="utf-8") as file:  # type: ignore[union-attr]  # all have one here
        file.write(f"{os.getpid()}\n")
    return 0


def log_the_key(stage: Sum, run: Run) -> int:
    logging.getLogger("a_library").warning("refused %s", os.environ["MY_API_KEY"])
    return 0


def search(stage: Sum, run: Run) -> int:
    """A parallel loop of OpenMP's."""
    import faiss

    vectors = np.zeros((2000, 8), dtype=np.float32)
    return len(faiss.knn(vectors[:200], vectors, 1)[0])


def search_twice(folder: str) -> None:
    """Search in this process, then in two workers. A test runs this in a separate process."""
    first, *others = (kind(Adder(), compute=search) for kind in (Source, Left, Right))
    for order, n_workers in ((first,), 1), (others, 2):
        ended = run_stages(order, Store(Path(folder) / "store"), Processes(), n_workers)
        assert not any(one.failed for one in ended)


def beat(stage: Sum, run: Run) -> int:
    """Run as if it sent one request after another to a model."""
    beats = Path(stage.component.calls)  # type: ignore[union-attr]  # all have one here
    for _ in range(3000):
        with beats.open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(0.01)
    return 0


def beat_for_ever(folder: str, method: str) -> None:
    """The main process of two workers; a test runs it in a separate process."""
    if method == "server":
        processes._OURS = ("tests.",)
        start_early([])
    else:
        contexts.fork_or_spawn = lambda: multiprocessing.get_context(method)
    component = Adder(calls=f"{folder}/beats")
    order = [Left(component, compute=beat), Right(component, compute=beat)]
    list(run_stages(order, Store(Path(folder) / "store"), Processes(), 2))
