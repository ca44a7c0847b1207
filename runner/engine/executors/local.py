"""The executor that runs stages one after another in this process. It starts nothing and shows progress within
stages.
"""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from components.openai_server.limiter import Limiter
from runner.engine.executors.protocol import Executor, LostStage, Stages, StartPriority, Watch, Workers
from runner.engine.outcome import StageRun, user_code_note
from runner.engine.stage import AnyStage
from runner.engine.store import Store
from runner.engine.worker import Worker

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Local(Executor):
    """Runs all stages in this process, regardless of the requested number of workers."""

    def check(self) -> list[str]:
        return []

    def start(
        self, stages: Stages, store: Store, limiter: Limiter | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        if n_workers > 1:
            log.warning(
                "run.workers: executor=local runs all stages in this process, one by one. Leave one of the two out."
            )
        return ThisProcess(store, limiter, watch)


class ThisProcess(Workers):
    """One worker: this process. A stage runs when its outcome is requested."""

    def __init__(self, store: Store, limiter: Limiter | None, watch: Watch, *, max_stages: int | None = None) -> None:
        """`extend` returns False beyond `max_stages` stages, because worker processes are then faster. None means no
        limit.
        """
        self._worker = Worker(store, limiter)
        self._max_stages = max_stages
        self._watch = watch
        self._stage: AnyStage | None = None

    def extend(self, stages: Stages) -> bool:
        return self._max_stages is None or len(stages) <= self._max_stages

    def start_priority(self, stage: AnyStage) -> StartPriority:
        return StartPriority.NONE if self._stage else StartPriority.READY

    def submit(self, stage: AnyStage) -> None:
        self._stage = stage

    def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
        stage, self._stage = self._stage, None
        assert stage is not None, "a stage was submitted: there is always room"
        with _report_exit(stage):
            return [self._worker.run(stage, lambda done, total: self._watch(stage, done, total))]

    def stop(self) -> None:
        """Do nothing, because nothing runs besides the caller."""


@contextmanager
def _report_exit(stage: AnyStage) -> Iterator[None]:
    """Report an `os._exit` by a user's component, which would end the command silently. The exit code is never 0.

    A process that the component forks may exit.
    """
    if not (names := user_code_note(stage)):
        yield
        return
    exit_process, process = os._exit, os.getpid()

    def exit_with_message(status: int) -> NoReturn:
        if os.getpid() == process:
            message = f"{stage.title}: a component ended the process with code {status} (os._exit) instead of raising "
            sys.stderr.write(f"{message}an exception that says why{names}\n")
            sys.stderr.flush()
            exit_process(status or 1)
        exit_process(status)

    os._exit = exit_with_message
    try:
        yield
    finally:
        os._exit = exit_process
