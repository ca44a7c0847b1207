"""Stages that the tests send to a Ray cluster. They record where they run, and some end their worker."""

import ctypes
import logging
import os
import signal
import time
from pathlib import Path

from tiny_components import Paid

from runner.engine.stage_run import Run
from tests.runner.engine.executors.ray_bed import NODE
from tests.runner.engine.fake_stages import Sum, add, request


def note(stage: Sum, run: Run) -> int:
    """Notes the number of the stage, its model, the process and the node."""
    assert stage.component is not None
    number, model = stage.component.amount, stage.component.model or "none"
    (_notes(stage) / f"{number}.{model}.{os.getpid()}.{os.environ[NODE]}").touch()
    return number


def note_slowly(stage: Sum, run: Run) -> int:
    """Note as `note` does, slowly."""
    time.sleep(0.1)
    return note(stage, run)


def note_and_wait(stage: Sum, run: Run) -> int:
    """Note as `note` does, and end once a file "go" exists."""
    number = note(stage, run)
    while not (_notes(stage) / "go").exists():
        time.sleep(0.02)
    return number


def sleep_in_c(stage: Sum, run: Run) -> int:
    """Record the start, then spend a minute in a library call that blocks all other threads."""
    note(stage, run)
    ctypes.PyDLL(None).sleep(60)
    return 0


def die(stage: Sum, run: Run) -> int:
    """Ends its worker, as the system does when memory is short."""
    note(stage, run)
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def die_twice(stage: Sum, run: Run) -> int:
    """Ends its worker, and succeeds when it is tried for the third time."""
    assert stage.component is not None
    n_before = len(list(_notes(stage).glob(f"{stage.component.amount}.*")))
    return note(stage, run) if n_before == 2 else die(stage, run)


def warn(stage: Sum, run: Run) -> int:
    """Log what every such stage logs, and what Python and Ray would print."""
    logging.getLogger("components.some").warning("a warning with [brackets] of all workers")
    print("what is printed in a worker")  # noqa: T201
    return note_slowly(stage, run)


def ask(stage: Sum, run: Run) -> int:
    """Send one request of its own to a language model."""
    assert stage.component is not None
    run.ask(Paid(), "answers")([request(f"question {stage.component.amount}")])
    return add(stage, run)


def _notes(stage: Sum) -> Path:
    assert stage.component is not None
    return Path(stage.component.calls)
