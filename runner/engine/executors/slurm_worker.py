"""Code of a Slurm job: a supervisor with a heartbeat, and a child process that computes.

The supervisor never computes. It writes heartbeats, records how workers die, and ends with the driver, even if the
worker is busy. It writes a second journal next to the worker's, with one empty line per heartbeat:

    journals/<worker>.life     {"hello": host}  {"refused": why}  {"died": exit code, ...}  {"left": why}
"""

import os
import pickle
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from components.child_processes import end_with_parent
from components.errors import StoreError
from components.json_value import Json
from components.openai_server.limiter import Limiter
from components.secrets.output import mask_output
from components.threads import allot_threads, n_cores
from runner.engine.environment import versions_to_match
from runner.engine.executors.contexts import fork_or_spawn
from runner.engine.executors.host_comparison import differences
from runner.engine.executors.protocol import Stages
from runner.engine.executors.slurm_heartbeat import DriverWatch
from runner.engine.executors.slurm_queue import Journal, TaskQueueReader, Wait, journal_path
from runner.engine.outcome import StageRun
from runner.engine.plugins.plugin_loading import UserCode
from runner.engine.stage import AnyStage
from runner.engine.store import Store
from runner.engine.worker import Worker

_MAX_DEATHS = 10
"""Number of worker deaths after which a job ends, because something is wrong with its host."""

_DISMISSED = 77
"""Exit code of a worker process that the driver has dismissed."""


class DepartureReason(StrEnum):
    """Reason why a job ended."""

    CANCELLED = "cancelled"
    """The job was cancelled, or preempted by another job."""
    TIME = "time"
    """The job's time limit was near."""
    DRIVER = "driver"
    """The driver ended, was silent for too long, or presumed this job dead."""
    DEATHS = "deaths"
    """The job's worker died `_MAX_DEATHS` times."""


@dataclass(frozen=True)
class SlurmJobInput:
    """Input of a job: the `folder` of the queue and the name of the worker in it.

    `work` holds the pickled stages, store and limiter, which only the worker process unpickles. `versions` are the
    driver's versions, including the user's `packages`. `store_probe` is a file in the driver's store; None if the store
    is not a shared folder. Libraries use at most `n_threads`.
    """

    folder: Path
    worker: str
    work: bytes
    packages: tuple[str, ...]
    versions: Mapping[str, str]
    store_probe: Path | None
    n_threads: int
    silence_s: float


def supervise(assignment: SlurmJobInput) -> None:
    """Work until the driver ends or is silent, or until the job is signalled to end. Does not return.

    On a return, submitit would write the result next to a queue that may have been removed.
    """
    mask_output()
    with suppress(FileNotFoundError):  # the queue was removed: the driver has ended
        _Supervisor(assignment).run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class _Supervisor:
    def __init__(self, assignment: SlurmJobInput) -> None:
        self._assignment = assignment
        self._life = Journal(journal_path(assignment.folder, assignment.worker, "life"))
        self._driver = DriverWatch(assignment.folder, assignment.silence_s)
        self._departure: DepartureReason | None = None
        self._process_id: int | None = None
        self._pid = os.getpid()
        signal.signal(signal.SIGTERM, self._end_now)
        signal.signal(signal.SIGUSR2, self._end_after_stage)

    def _end_now(self, number: int, frame: FrameType | None) -> None:
        self._departure = self._departure or DepartureReason.CANCELLED
        self._signal_worker(signal.SIGKILL)

    def _end_after_stage(self, number: int, frame: FrameType | None) -> None:
        """End after the running stage, which may still finish in time."""
        self._departure = self._departure or DepartureReason.TIME
        self._signal_worker(signal.SIGUSR2)

    def _signal_worker(self, number: signal.Signals) -> None:
        if os.getpid() == self._pid and self._process_id:  # a forked child has these handlers briefly
            with suppress(ProcessLookupError):
                os.kill(self._process_id, number)

    def run(self) -> None:
        """Keep a worker running. Raises FileNotFoundError if the queue was removed."""
        if refusal := _refusal(self._assignment):
            self._life.append({"refused": refusal})
            return
        self._life.append({"hello": socket.gethostname()})
        n_deaths = 0
        while not self._departure:
            exit_code = self._run_worker()
            if exit_code == _DISMISSED:
                self._departure = self._departure or DepartureReason.DRIVER
            elif not self._departure:
                self._life.append({"died": exit_code, "process": self._process_id})
                n_deaths += 1
                self._departure = DepartureReason.DEATHS if n_deaths == _MAX_DEATHS else None
        self._life.append({"left": self._departure})

    def _run_worker(self) -> int:
        """Start a worker process, follow it to its end, and return its exit code."""
        process: BaseProcess = fork_or_spawn().Process(target=_work, args=(self._assignment,))  # type: ignore[attr-defined]
        process.start()
        self._process_id = process.pid
        try:
            while process.exitcode is None:
                process.join(self._driver.every_s)
                self._life.beat()
                if self._driver.is_over():
                    self._departure = self._departure or DepartureReason.DRIVER
                    process.kill()
        finally:
            process.kill()
        return process.exitcode


def _refusal(assignment: SlurmJobInput) -> str:
    """Return the reason why results must not come from this host, "" if they may."""
    not_used = f"host {socket.gethostname()} is not used"
    if mismatches := differences(versions_to_match(assignment.packages), assignment.versions):
        return f"{not_used}: {'; '.join(mismatches)}. Results depend on these. Install the same versions on all hosts."
    probe = assignment.store_probe
    if probe and not probe.exists():
        return (
            f"{not_used}: run.store_dir {probe.parents[1]} is not the same folder there. Choose a folder that all "
            "hosts share at the same path"
        )
    return ""


def _work(assignment: SlurmJobInput) -> None:
    """Run the worker process: take tasks until a signal or a dismissal."""
    for name in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # the supervisor handles these signals
        signal.signal(name, signal.SIG_IGN)
    signals: list[int] = []
    signal.signal(signal.SIGUSR2, lambda number, _: signals.append(number))
    end_with_parent()
    mask_output()  # a spawned worker does not inherit the masking
    work: tuple[UserCode, Stages, Store, Limiter | None] = pickle.loads(assignment.work)  # noqa: S301 - the driver's
    _, stages, store, limiter = work
    taker = TaskQueueReader(assignment.folder, assignment.worker, {key: stage.models for key, stage in stages.items()})
    allot_threads(min(assignment.n_threads, n_cores()))
    worker, wait = Worker(store, limiter), Wait()
    while not signals and not taker.is_dismissed:
        task = taker.take(wait.seconds)
        if task is None:
            wait.pause()
            continue
        taker.record_outcome(task, _outcome(worker, stages[task.key]))
        wait = Wait()
    if taker.is_dismissed:
        sys.exit(_DISMISSED)


def _outcome(worker: Worker, stage: AnyStage) -> dict[str, Json]:
    try:
        return asdict(worker.run(stage))
    except StoreError as error:  # the driver raises it again: later results could not be stored either
        return {"store_error": str(error)}


def read_stage_run(outcome: Mapping[str, Json]) -> StageRun:
    """Return the outcome of a stage that a worker recorded.

    Raises StoreError if the worker could not store the result.
    """
    if error := outcome.get("store_error"):
        raise StoreError(error)
    return StageRun(**{**outcome, "damaged": tuple(outcome["damaged"])})
