"""Components that fork, or leave by other ways than exceptions, cost their own stage at most."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.engine.run import Run
from runner.engine.store import Store
from runner.engine.worker import Worker
from tests.runner.engine.fake_stages import Adder, Source, Sum


def leave(stage: Sum, run: Run) -> int:
    sys.exit(0)


def close_generator(stage: Sum, run: Run) -> int:
    raise GeneratorExit


class Own(BaseException):
    """Of a user who does not know better."""


def raise_own(stage: Sum, run: Run) -> int:
    raise Own("why")


@pytest.mark.parametrize(
    ("compute", "told"),
    [
        (leave, "a component called sys.exit(0)"),
        (close_generator, "a component raised GeneratorExit"),
        (raise_own, "a component raised Own"),
    ],
)
def test_a_way_out_that_is_no_error_fails_the_stage(
    compute: Callable[[Sum, Run], int], told: str, tmp_path: Path
) -> None:
    run = Worker(Store(tmp_path, "this run")).run(Source(Adder(1), compute=compute))
    assert run.error == f"source: {told}, wanted an exception that says why"


def fork(stage: Sum, run: Run) -> int:
    return 0 if os.fork() else 1


def fork_and_fail(stage: Sum, run: Run) -> int:
    if os.fork():
        return 0
    raise ValueError("in the child")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(("compute", "exit_code"), [(fork, 0), (fork_and_fail, 1)])
def test_a_forked_child_that_comes_back_ends(
    compute: Callable[[Sum, Run], int], exit_code: int, tmp_path: Path
) -> None:
    """It would go on with this process's work."""
    store = Store(tmp_path, "this run")
    stage = Source(Adder(1), compute=compute)
    run = Worker(store).run(stage)
    assert (run.error, os.waitstatus_to_exitcode(os.wait()[1])) == ("", exit_code)
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    assert entry.part("number") == 0, "the parent's"
