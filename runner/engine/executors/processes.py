"""Runs stages in worker processes of this machine. One that dies loses its own stage alone, and a new one takes its
place.
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
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from operator import itemgetter
from pathlib import Path

from components.openai_server.gate import Gate
from components.processes import end_with_parent
from components.threads import allot_threads, n_cores
from runner.console.endings import OF_TERMINALS, endings_deferred
from runner.engine.executors.contexts import WorkerProcess, say_if_crowded, start_worker
from runner.engine.executors.fork_server import end_early
from runner.engine.executors.local import ThisProcess
from runner.engine.executors.protocol import (
    N_LOSSES,
    Executor,
    Lost,
    Room,
    Stages,
    Watch,
    Workers,
    components_of,
    modules_of,
)
from runner.engine.executors.resources import resources_of, unknown_kinds
from runner.engine.identity import Models
from runner.engine.outcome import StageRun, users_code
from runner.engine.plugins.plugin_loading import CodeOfUsers
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store
from runner.engine.worker import Worker

log = logging.getLogger(__name__)

_MOST_BY_DEFAULT = 2
_OURS = ("components.", "runner.")

_CORES_ALONE = (
    "does not count with executor=processes, which shares out the cores of one machine and nothing else: leave it out, "
    "or take executor=ray or executor=slurm"
)


@dataclass(frozen=True)
class Processes(Executor):
    """Worker processes; by default one per core, two at most. One worker is this process itself. `resources` are those
    of kinds of stages, of which only cores count here.
    """

    resources: Mapping[str, Resources] = field(default_factory=dict)

    def check(self) -> list[str]:
        return unknown_kinds(self.resources)

    def unheeded(self) -> dict[str, str]:
        return {
            f"resources.{kind}.{name}": _CORES_ALONE
            for kind, need in self.resources.items()
            for name in ("gpus", "memory_gb")
            if getattr(need, name)
        }

    def start(
        self, stages: Stages, store: Store, gate: Gate | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        for name, why in self.unheeded().items():
            log.warning("executor.%s: %s", name, why)
        n_workers = min(n_workers or min(n_cores(), _MOST_BY_DEFAULT), len(stages))
        modules = modules_of(stages)
        if n_workers < 2 or not all(module.startswith(_OURS) for module in modules):
            end_early()  # what users wrote may count on being loaded once, and on never being pickled
        if n_workers < 2 or "__main__" in modules:
            return ThisProcess(store, gate, watch)
        if multiprocessing.current_process().daemon:
            log.warning("run.workers: a daemonic process, as of a pool, has no workers: all stages run in this process")
            return ThisProcess(store, gate, watch)
        say_if_crowded(n_workers)
        return _Processes(_Start(_Luggage(stages), pickle.dumps(store), gate), n_workers, self.resources)


class _Luggage:
    """The stages of a worker: themselves in a forked process, else pickled behind the code that they are made of."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    def open(self) -> Stages:
        """The stages."""
        return self._stages

    def __reduce__(self) -> tuple[type["_Packed"], tuple[bytes]]:
        return _Packed, (pickle.dumps((CodeOfUsers(components_of(self._stages)), self._stages)),)


@dataclass(frozen=True)
class _Packed:
    content: bytes

    def open(self) -> Stages:
        """The stages. Raises ComponentError if their code cannot be had here."""
        _, stages = pickle.loads(self.content)  # noqa: S301 - pickled by the parent
        return dict(stages)


@dataclass(frozen=True)
class _Start:
    """What a worker process starts with: the stages, so that a task is no more than a key."""

    luggage: "_Luggage | _Packed"
    store: bytes
    """Pickled: a worker opens it anew, whether it is forked or not."""
    gate: Gate | None


def _work(start: _Start, tasks: Connection) -> None:
    """A worker process: takes keys, with the threads that their stages may use, and sends how these ended, or what was
    raised.

    Ctrl-C and the end of a terminal reach the whole process group: the parent ends its workers, they need not print
    a traceback each. A parent that was killed cannot: they watch for its end themselves.
    """
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a forked worker has the parent's own handler
    end_with_parent()  # it would go on asking a model that costs money
    if hasattr(os, "register_at_fork"):  # a child of a component would hold the pipe open when this process is killed
        os.register_at_fork(after_in_child=tasks.close)
    gc.freeze()  # what the parent had made stays: no collection need look at it again
    worker: Worker | None = None
    stages: Stages | None = None
    with suppress(EOFError, ConnectionError):  # the parent was killed, a moment before this process ends too
        while True:
            key, n_threads = tasks.recv()
            allot_threads(n_threads)
            try:
                worker = worker or Worker(pickle.loads(start.store), start.gate)  # noqa: S301 - pickled by the parent
                stages = stages or start.luggage.open()
                ended: StageRun | Exception = worker.run(stages[key])
            except Exception as error:  # noqa: BLE001 - whatever it is, the parent raises it
                ended = error
            tasks.send(ended)


class _Place:
    """A worker process: what it does, and which models it holds. One that died is followed by another when there is
    something to do.
    """

    def __init__(self, start: _Start) -> None:
        self._start_with = start
        self.stage: AnyStage | None = None
        self.has_begun = False
        self.models: Models = frozenset()
        self._process: WorkerProcess | None = None
        self.tasks: Connection | None = None

    def start(self) -> None:
        """Starts the process."""
        with endings_deferred(kept_from_children=OF_TERMINALS):
            self._process, self.tasks = start_worker(_work, self._start_with)

    def take(self, stage: AnyStage) -> None:
        """The next that it does."""
        self.stage, self.has_begun = stage, False
        self.models = stage.models or self.models  # loaded ones stay until others are needed

    def begin(self, n_threads: int) -> None:
        """Hands the process its stage."""
        assert self.stage is not None, "it has taken one"
        if self.tasks is None:
            self.start()
        assert self.tasks is not None, "it was started"
        self.has_begun = True
        with suppress(OSError):  # it died meanwhile, which its end of the pipe will tell
            self.tasks.send((self.stage.key, n_threads))

    def bury(self) -> int:
        """The process is dead, and with it what it held: returns its exit code, below 0 the signal that killed it."""
        self.models = frozenset()
        return self.end()

    def end(self) -> int:
        """Ends the process, whatever it does; returns its exit code."""
        if self._process is None or self.tasks is None:
            return 0
        exit_code = self._process.end()
        self.tasks.close()
        self._process = self.tasks = None
        return exit_code


class _Processes(Workers):
    """The worker processes of one machine. Stages that are begun together share its cores."""

    def __init__(self, start: _Start, n_workers: int, resources: Mapping[str, Resources]) -> None:
        self._resources = resources
        self._n_cores = max(n_cores(), n_workers)
        self._places = [_Place(start) for _ in range(n_workers)]
        self._idle = list(self._places)
        self._n_free_cores = self._n_cores
        self._n_losses: Counter[str] = Counter()
        self._made: dict[str, tuple[int, _Place]] = {}
        try:
            for place in self._places:
                place.start()
        except BaseException:
            with endings_deferred():
                self.stop()
            raise

    def room_for(self, stage: AnyStage) -> Room:
        if not self._idle or self._cores_for(stage) > self._n_free_cores or self._is_kept_apart(stage):
            return Room.NONE
        if fitting := [place for place in self._idle if stage.models <= place.models]:
            return Room.READY if self.near(stage) in (None, *fitting) else Room.FAR
        return Room.AGAIN if any(stage.models <= place.models for place in self._places) else Room.NEW

    def near(self, stage: AnyStage) -> "_Place | None":
        """Where the last of its inputs was made."""
        made = [self._made[before.key] for before in stage.inputs if before.key in self._made]
        return max(made, key=itemgetter(0))[1] if made else None

    def submit(self, stage: AnyStage) -> None:
        near = self.near(stage)
        best = max(self._idle, key=lambda place: (stage.models <= place.models, place is near, not place.models))
        self._idle.remove(best)
        self._n_free_cores -= self._cores_for(stage)
        best.take(stage)

    def _cores_for(self, stage: AnyStage) -> int:
        """One that wants more cores than there are has them all."""
        return min(self._wanted_by(stage) or self._n_cores // len(self._places), self._n_cores)

    def _wanted_by(self, stage: AnyStage) -> int:
        return resources_of(stage, self._resources).cpus

    @property
    def _running(self) -> list[AnyStage]:
        return [place.stage for place in self._places if place.stage]

    def _is_kept_apart(self, stage: AnyStage) -> bool:
        """The last try of a stage has the machine for itself: memory may have been short for two."""
        last_tries = [key for key, n in self._n_losses.items() if n == N_LOSSES - 1]
        return bool(last_tries) and (stage.key not in last_tries or bool(self._running))

    def hand_out(self) -> None:
        """Now it is known whether a stage is alone, and may use all cores."""
        is_alone = len(self._running) == 1
        for place in self._places:
            if place.stage and not place.has_begun:
                has_all = is_alone and not self._wanted_by(place.stage)
                n_threads = self._n_cores if has_all else self._cores_for(place.stage)
                place.begin(min(n_threads, n_cores()))

    def ended(self) -> Sequence[StageRun | Lost]:
        places = {place.tasks: place for place in self._places if place.tasks}
        return [each for tasks in wait(list(places)) if (each := self._ended(places[tasks]))]  # type: ignore[index]

    def _ended(self, place: _Place) -> StageRun | Lost | None:
        assert place.tasks is not None, "it said something"
        try:
            run: StageRun | Exception = place.tasks.recv()
        except (EOFError, OSError):
            return self._died(place)
        if isinstance(run, Exception):
            raise run
        self._free(place)
        self._n_losses.pop(run.key, None)
        self._made[run.key] = len(self._made), place
        return run

    def _died(self, place: _Place) -> Lost | None:
        exit_code = place.bury()
        stage = self._free(place)
        if stage is None:  # its memory was taken while it had nothing to do
            return None
        self._n_losses[stage.key] += 1
        return Lost(stage.key, _how_it_ended(exit_code) + users_code(stage))

    def _free(self, place: _Place) -> AnyStage | None:
        """Takes its stage off a place, if it has one."""
        stage, place.stage = place.stage, None
        if stage:
            self._idle.append(place)
            self._n_free_cores += self._cores_for(stage)
        return stage

    def stop(self) -> None:
        for place in self._places:
            place.end()


def _how_it_ended(exit_code: int) -> str:
    if exit_code >= 0:
        return (
            f"the worker process ended with exit code {exit_code}: a component or a library under it ended its own "
            "process (os._exit), expected an exception that says why"
        )
    name = signal.Signals(-exit_code).name
    if name == "SIGKILL":
        return (
            f"the worker process was killed ({name}), most likely for want of memory; try run.workers=1 or a smaller "
            "workload"
        )
    return f"the worker process was ended by {name}; after a crash in a library (SIGSEGV, SIGABRT) try run.workers=1"
