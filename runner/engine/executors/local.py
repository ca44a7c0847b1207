"""Runs stages one after another in this process: nothing to start, and progress within long stages is seen."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from components.openai_server.gate import Gate
from runner.engine.executors.protocol import Executor, Lost, Room, Stages, Watch, Workers
from runner.engine.outcome import StageRun, users_code
from runner.engine.stage import AnyStage
from runner.engine.store import Store
from runner.engine.worker import Worker

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Local(Executor):
    """The process that was started, whatever number of workers is wanted."""

    def check(self) -> list[str]:
        return []

    def start(
        self, stages: Stages, store: Store, gate: Gate | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        if n_workers > 1:
            log.warning(
                "run.workers: executor=local runs all stages in this process, one by one; leave one of them out"
            )
        return ThisProcess(store, gate, watch)


class ThisProcess(Workers):
    """One place. A stage runs while its end is waited for."""

    def __init__(self, store: Store, gate: Gate | None, watch: Watch) -> None:
        self._worker = Worker(store, gate)
        self._watch = watch
        self._stage: AnyStage | None = None

    def room_for(self, stage: AnyStage) -> Room:
        return Room.NONE if self._stage else Room.READY

    def submit(self, stage: AnyStage) -> None:
        self._stage = stage

    def ended(self) -> Sequence[StageRun | Lost]:
        stage, self._stage = self._stage, None
        assert stage is not None, "one was submitted: there is always room"
        with _reported_exit(stage):
            return [self._worker.run(stage, lambda done, total: self._watch(stage, done, total))]

    def stop(self) -> None:
        """Nothing runs beside the caller."""


@contextmanager
def _reported_exit(stage: AnyStage) -> Iterator[None]:
    """Report an `os._exit` by a user's component, which would end the command without a word. A process that the
    component forks ends as it likes.
    """
    if not (names := users_code(stage)):
        yield
        return
    leave, process = os._exit, os.getpid()

    def reporting(status: int) -> NoReturn:
        if os.getpid() == process:
            said = f"{stage.title}: a component ended the process with code {status} (os._exit), expected an exception"
            sys.stderr.write(f"{said} that says why{names}\n")
            sys.stderr.flush()
        leave(status)

    os._exit = reporting
    try:
        yield
    finally:
        os._exit = leave
