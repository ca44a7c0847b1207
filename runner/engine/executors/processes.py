"""The executor that runs stages in worker processes of this machine. A worker that dies loses only its current stage,
and is replaced.
"""

import gc
import logging
import multiprocessing
import os
import pickle
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from operator import itemgetter
from pathlib import Path

from components.child_processes import end_with_parent
from components.openai_server.limiter import Limiter
from components.secrets.output import mask_output
from components.threads import allot_threads, n_cores
from runner.console.ending_signals import TERMINAL_SIGNALS, defer_ending_signals
from runner.engine.executors.contexts import WorkerProcess, start_worker, warn_if_crowded
from runner.engine.executors.fork_server import end_early
from runner.engine.executors.local import ThisProcess
from runner.engine.executors.protocol import (
    N_LOSSES,
    Executor,
    LostStage,
    Stages,
    StartPriority,
    Watch,
    Workers,
    defines_in_main,
    iterate_components,
    list_modules,
)
from runner.engine.executors.resources import find_resources, unknown_kinds
from runner.engine.identity import Models
from runner.engine.outcome import StageRun, user_code_note
from runner.engine.plugins.plugin_loading import UserCode
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store
from runner.engine.worker import Worker

log = logging.getLogger(__name__)

_DEFAULT_MAX_WORKERS = 2
_OURS = ("components.", "runner.")

_ONLY_CORES = (
    "has no effect with executor=processes, which divides only the cores of one machine. Leave it out, or use "
    "executor=ray or executor=slurm"
)


@dataclass(frozen=True)
class Processes(Executor):
    """Worker processes, by default one per core but at most two. A single worker is this process itself.

    `resources` maps kinds of stages to their resources. This executor uses only the cores.
    """

    resources: Mapping[str, Resources] = field(default_factory=dict)

    def check(self) -> list[str]:
        return unknown_kinds(self.resources)

    def ignored_settings(self) -> dict[str, str]:
        return {
            f"resources.{kind}.{name}": _ONLY_CORES
            for kind, need in self.resources.items()
            for name in ("gpus", "memory_gb")
            if getattr(need, name)
        }

    def start(
        self, stages: Stages, store: Store, limiter: Limiter | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        for name, reason in self.ignored_settings().items():
            log.warning("executor.%s: %s", name, reason)
        max_workers = n_workers or min(n_cores(), _DEFAULT_MAX_WORKERS)
        n_workers = min(max_workers, len(stages))
        if n_workers < 2 or not _are_ours(stages):
            end_early()  # users' code may rely on being loaded once and never pickled
        if n_workers < 2 or defines_in_main(stages):
            return ThisProcess(store, limiter, watch, max_stages=1 if n_workers < max_workers else None)
        if multiprocessing.current_process().daemon:
            log.warning(
                "run.workers: this process cannot start workers (it is daemonic, as in a pool); stages run one by one"
            )
            return ThisProcess(store, limiter, watch)
        warn_if_crowded(n_workers)
        return _Processes(
            _Start(_StagesToSend(stages), pickle.dumps(store), limiter), n_workers, max_workers, self.resources
        )


def _are_ours(stages: Stages) -> bool:
    return all(module.startswith(_OURS) for module in list_modules(stages))


class _StagesToSend:
    """Stages for a worker. A forked worker inherits them; otherwise they are pickled together with the users' code."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    def open(self) -> Stages:
        return self._stages

    def extend(self, stages: Stages) -> "_StagesToSend":
        return _StagesToSend({**self._stages, **stages})

    def __reduce__(self) -> tuple[type["_PickledStages"], tuple[bytes]]:
        return _PickledStages, (pickle.dumps((UserCode(iterate_components(self._stages)), self._stages)),)


@dataclass(frozen=True)
class _PickledStages:
    content: bytes

    def open(self) -> Stages:
        """Return the stages. Raises ComponentError if their code is not available here."""
        _, stages = pickle.loads(self.content)  # noqa: S301 - pickled by the parent
        return dict(stages)


@dataclass(frozen=True)
class _Start:
    """The data that a worker process starts with. It includes all stages, so that a task is only a key."""

    stages: _StagesToSend
    """A process that was not forked receives `_PickledStages`."""
    store: bytes
    """The pickled store, which each worker opens itself, forked or not."""
    limiter: Limiter | None


def _work(start: _Start, tasks: Connection) -> None:
    """Run a worker process: receive further stages, keys and numbers of threads, and send outcomes or errors.

    Ctrl-C and hangup of a terminal reach the whole process group. The parent then ends its workers, so they ignore
    these signals and print no tracebacks. A killed parent cannot end them, so they watch for its end.
    """
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a forked worker has inherited the parent's handler
    end_with_parent()  # an orphaned worker would continue to send paid requests
    mask_output()  # a spawned worker does not inherit the masking
    if hasattr(os, "register_at_fork"):  # a component's child would hold the pipe open after this process was killed
        os.register_at_fork(after_in_child=tasks.close)
    gc.freeze()  # objects of the parent stay, so the garbage collector can skip them
    worker: Worker | None = None
    stages: dict[str, AnyStage] = {}
    with suppress(EOFError, ConnectionError):  # the parent was killed, and this process ends shortly after it
        while True:
            more, key, n_threads = tasks.recv()
            allot_threads(n_threads)
            try:
                worker = worker or Worker(pickle.loads(start.store), start.limiter)  # noqa: S301 - by the parent
                stages = stages or dict(start.stages.open())
                for each in more:
                    stages.update(pickle.loads(each).open())  # noqa: S301 - pickled by the parent
                ended: StageRun | Exception = worker.run(stages[key])
            except Exception as error:  # noqa: BLE001 - the parent raises it
                ended = error
            tasks.send(ended)


class _WorkerSlot:
    """A worker: its process, its stage, and the models that it holds. A dead process is replaced for the next stage."""

    def __init__(self, start: _Start) -> None:
        self._start_with = start
        self.stage: AnyStage | None = None
        self.has_begun = False
        self.models: Models = frozenset()
        self._pickled_stages: list[bytes] = []
        self._process: WorkerProcess | None = None
        self.tasks: Connection | None = None

    def extend(self, start: _Start, pickled_stages: bytes) -> None:
        """Send more stages, which are pickled, with the next stage. A new process gets all of them in `start`."""
        self._start_with = start
        self._pickled_stages.append(pickled_stages)

    def start(self) -> None:
        self._pickled_stages.clear()
        with defer_ending_signals(blocked_in_children=TERMINAL_SIGNALS):
            self._process, self.tasks = start_worker(_work, self._start_with)

    def take(self, stage: AnyStage) -> None:
        """Assign the next stage, which `begin` sends to the process."""
        self.stage, self.has_begun = stage, False
        self.models = stage.models or self.models  # loaded models stay until others are needed

    def begin(self, n_threads: int) -> None:
        """Send the assigned stage to the process."""
        assert self.stage is not None, "it has taken one"
        if self.tasks is None:
            self.start()
        assert self.tasks is not None, "it was started"
        self.has_begun = True
        with suppress(OSError):  # the process died, which the pipe will report
            self.tasks.send((self._pickled_stages, self.stage.key, n_threads))
        self._pickled_stages.clear()

    def clear(self) -> int:
        """Forget the models of a dead process. Returns its exit code; a negative one is the signal that killed it."""
        self.models = frozenset()
        return self.end()

    def end(self) -> int:
        """Kill the process and return its exit code."""
        if self._process is None or self.tasks is None:
            return 0
        exit_code = self._process.end()
        self.tasks.close()
        self._process = self.tasks = None
        return exit_code


class _Processes(Workers):
    """The worker processes of one machine. Stages that start together share its cores."""

    def __init__(self, start: _Start, n_workers: int, max_workers: int, resources: Mapping[str, Resources]) -> None:
        """Start `n_workers` workers. Stages that arrive later may need more workers, up to `max_workers`."""
        self._start = start
        self._max_workers = max_workers
        self._resources = resources
        self._n_cores = max(n_cores(), n_workers)
        self._slots: list[_WorkerSlot] = []
        self._idle: list[_WorkerSlot] = []
        self._n_free_cores = self._n_cores
        self._n_losses: Counter[str] = Counter()
        self._computed: dict[str, tuple[int, _WorkerSlot]] = {}
        self._grow(n_workers)

    def _grow(self, n_workers: int) -> None:
        try:
            while len(self._slots) < n_workers:
                slot = _WorkerSlot(self._start)
                self._slots.append(slot)
                self._idle.append(slot)
                slot.start()
        except BaseException:
            with defer_ending_signals():
                self.stop()
            raise

    def extend(self, stages: Stages) -> bool:
        n_workers = max(len(self._slots), min(self._max_workers, len(stages)))
        if n_workers > self._n_cores or not _are_ours(stages):
            return False
        try:
            pickled_stages = pickle.dumps(_StagesToSend(stages))
        except (pickle.PicklingError, TypeError, AttributeError):  # forked workers need no pickled stages
            return False
        self._start = replace(self._start, stages=self._start.stages.extend(stages))
        for slot in self._slots:
            slot.extend(self._start, pickled_stages)
        self._grow(n_workers)
        return True

    def start_priority(self, stage: AnyStage) -> StartPriority:
        if not self._idle or self._count_cores(stage) > self._n_free_cores or self._must_wait_for_last_try(stage):
            return StartPriority.NONE
        if fitting := [slot for slot in self._idle if stage.models <= slot.models]:
            return StartPriority.READY if self.near(stage) in (None, *fitting) else StartPriority.FAR
        return StartPriority.AGAIN if any(stage.models <= slot.models for slot in self._slots) else StartPriority.NEW

    def near(self, stage: AnyStage) -> "_WorkerSlot | None":
        """Return the worker that computed the latest of the stage's inputs."""
        computed = [
            self._computed[input_stage.key] for input_stage in stage.inputs if input_stage.key in self._computed
        ]
        return max(computed, key=itemgetter(0))[1] if computed else None

    def submit(self, stage: AnyStage) -> None:
        nearest = self.near(stage)
        best = max(self._idle, key=lambda slot: (stage.models <= slot.models, slot is nearest, not slot.models))
        self._idle.remove(best)
        self._n_free_cores -= self._count_cores(stage)
        best.take(stage)

    def _count_cores(self, stage: AnyStage) -> int:
        """Return the cores for a stage. A stage that requests more than there are gets all of them."""
        return min(self._requested_cores(stage) or self._n_cores // len(self._slots), self._n_cores)

    def _requested_cores(self, stage: AnyStage) -> int:
        return find_resources(stage, self._resources).cpus

    @property
    def _running_stages(self) -> list[AnyStage]:
        return [slot.stage for slot in self._slots if slot.stage]

    def _must_wait_for_last_try(self, stage: AnyStage) -> bool:
        """Return True if the stage must wait, because a last try runs alone: it may need all memory of the machine."""
        last_tries = [key for key, n in self._n_losses.items() if n == N_LOSSES - 1]
        return bool(last_tries) and (stage.key not in last_tries or bool(self._running_stages))

    def start_submitted(self) -> None:
        """Start the submitted stages. A stage that runs alone may use all cores."""
        is_alone = len(self._running_stages) == 1
        for slot in self._slots:
            if slot.stage and not slot.has_begun:
                has_all = is_alone and not self._requested_cores(slot.stage)
                n_threads = self._n_cores if has_all else self._count_cores(slot.stage)
                slot.begin(min(n_threads, n_cores()))

    def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
        slots = {slot.tasks: slot for slot in self._slots if slot.tasks}
        return [each for tasks in wait(list(slots)) if (each := self._receive(slots[tasks]))]  # type: ignore[index]

    def _receive(self, slot: _WorkerSlot) -> StageRun | LostStage | None:
        assert slot.tasks is not None, "its pipe is readable"
        try:
            run: StageRun | Exception = slot.tasks.recv()
        except (EOFError, OSError):
            return self._record_death(slot)
        if isinstance(run, MemoryError):  # the process may hold the memory that the next stage needs
            return self._record_death(slot, f"a worker process ran out of memory. {_LESS_WORK}")
        if isinstance(run, Exception):
            raise run
        self._free(slot)
        self._n_losses.pop(run.key, None)
        self._computed[run.key] = len(self._computed), slot
        return run

    def _record_death(self, slot: _WorkerSlot, reason: str = "") -> LostStage | None:
        exit_code = slot.clear()
        stage = self._free(slot)
        if stage is None:  # the worker was killed while idle
            return None
        self._n_losses[stage.key] += 1
        return LostStage(stage.key, (reason or _describe_end(exit_code)) + user_code_note(stage))

    def _free(self, slot: _WorkerSlot) -> AnyStage | None:
        """Remove the stage of a worker and return it, if it has one."""
        stage, slot.stage = slot.stage, None
        if stage:
            self._idle.append(slot)
            self._n_free_cores += self._count_cores(stage)
        return stage

    def stop(self) -> None:
        for slot in self._slots:
            slot.end()


_LESS_WORK = "Try run.workers=1 or a smaller run.documents_per_block."


def _describe_end(exit_code: int) -> str:
    if exit_code >= 0:
        return (
            f"the worker process ended with exit code {exit_code}: a component or a library under it ended the "
            "process (os._exit) instead of raising an exception that says why"
        )
    name = signal.Signals(-exit_code).name
    if name == "SIGKILL":
        return f"the worker process was killed ({name}), most likely because memory ran out. {_LESS_WORK}"
    return f"the worker process was ended by {name}. After a crash in a library (SIGSEGV, SIGABRT) try run.workers=1"
