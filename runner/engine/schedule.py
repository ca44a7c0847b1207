"""The scheduler: keeps the workers of an executor busy and reports the outcome of each stage.

A stage waits for its inputs, and fails if one of them fails. Of the ready stages that fit on a worker, the first in the
plan starts. Stages that use a loaded model start before stages that would load another one. If no ready stage is near
to a free worker (see `Workers.near`), the worker takes the last one of the plan, so that workers rarely need the same
inputs.

A user may pause the schedule, and give up stages (see `Steering`).
"""

import logging
import time
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from components.errors import BudgetReached
from components.openai_server.limiter import Limiter
from runner.console.ending_signals import defer_ending_signals
from runner.engine.executors.protocol import N_LOSSES, Executor, LostStage, Stages, StartPriority, Watch, Workers
from runner.engine.outcome import StageRun, inherited_failure
from runner.engine.stage import AnyStage
from runner.engine.steering_requests import NoSteering, Steering
from runner.engine.store import Store

log = logging.getLogger(__name__)

_POLL_EVERY_S = 0.2
"""Seconds between checks for the end of a pause."""

GIVEN_UP = "stopped by the user"


def ignore_progress(stage: AnyStage, done: int, total: int) -> None:
    """Ignore the progress of a stage."""


def run_stages(
    order: Sequence[AnyStage],
    store: Store,
    executor: Executor,
    n_workers: int = 0,
    watch: Watch = ignore_progress,
    limiter: Limiter | None = None,
    folder: Path = Path(),
) -> Iterator[StageRun]:
    """Run the stages in dependency order and yield each outcome. See `start_schedule` for the arguments."""
    with start_schedule(order, store, executor, n_workers, watch, limiter, folder) as outcomes:
        yield from outcomes


@contextmanager
def start_schedule(
    order: Sequence[AnyStage],
    store: Store,
    executor: Executor,
    n_workers: int = 0,
    watch: Watch = ignore_progress,
    limiter: Limiter | None = None,
    folder: Path = Path(),
) -> Iterator[Iterator[StageRun]]:
    """Start workers, which end with the context, and yield an iterator that runs the stages.

    The iterator runs stages in dependency order and reports each outcome as it arrives, in no particular order. Every
    request to a model passes `limiter`. Once the limiter refuses an attempt, the iterator waits for running stages and
    raises BudgetReached. `Executor.start` documents the other parameters.
    """
    with (
        PersistentWorkers(store, executor, n_workers, limiter, folder) as workers,
        workers.running(order, watch) as outcomes,
    ):
        yield outcomes


class PersistentWorkers:
    """Workers that are started for the first stages and serve the next ones, with the models that they hold."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        n_workers: int,
        limiter: Limiter | None,
        folder: Path,
        steering: Steering | None = None,
    ) -> None:
        """`Executor.start` documents the other parameters."""
        self._store = store
        self._executor = executor
        self._n_workers = n_workers
        self._limiter = limiter
        self._folder = folder
        self._steering = steering or NoSteering()
        self._watch: Watch = ignore_progress
        self._workers: Workers | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    @contextmanager
    def running(self, order: Sequence[AnyStage], watch: Watch = ignore_progress) -> Iterator[Iterator[StageRun]]:
        """Start workers unless the current ones can run these stages: see `start_schedule`.

        If stages remain at the end, all workers stop.
        """
        self._watch = watch
        schedule = _Schedule(order, self._get_workers({stage.key: stage for stage in order}), self._steering)
        try:
            yield schedule.yield_outcomes()
        finally:
            if schedule.is_over:
                self._store.discard_temporary()
            else:
                self._stop()

    def _get_workers(self, stages: Stages) -> Workers:
        if self._workers is None or not self._workers.extend(stages):
            self._stop()
            start = self._executor.start
            self._workers = start(
                stages, self._store, self._limiter, self._n_workers, self._report_progress, self._folder
            )
        return self._workers

    def _report_progress(self, stage: AnyStage, done: int, total: int) -> None:
        self._watch(stage, done, total)

    def _stop(self) -> None:
        workers, self._workers = self._workers, None
        if workers:
            with defer_ending_signals():  # a second Ctrl-C would leave workers behind
                workers.stop()
                self._store.discard_temporary()


class _Schedule:
    """The stages of a plan on their way through the workers."""

    def __init__(self, order: Sequence[AnyStage], workers: Workers, steering: Steering) -> None:
        self._stages = {stage.key: stage for stage in order}
        self._waiting = _WaitingStages(order, workers)
        self._workers = workers
        self._steering = steering
        self._running: dict[str, AnyStage] = {}
        self._n_losses: Counter[str] = Counter()
        self._failed: dict[str, StageRun] = {}
        self._over_budget = ""
        self.is_over = False
        """True once no stage is running, and all of them have an outcome."""

    def yield_outcomes(self) -> Iterator[StageRun]:
        """Yield the outcome of each stage.

        Raises BudgetReached at the end if a stage stopped at a limit of the budget.
        """
        runs = self._give_up(self._steering.look())
        has_more = self._begin()
        yield from runs
        while has_more or self._running:
            runs = [run for each in self._wait() for run in self._handle(each)]
            runs += self._give_up(self._steering.look())
            has_more = self._begin()  # workers stay busy while the caller handles these runs
            yield from runs
        if self._over_budget:
            raise BudgetReached(self._over_budget)
        self.is_over = True

    def _wait(self) -> Sequence[StageRun | LostStage]:
        if self._running or not self._steering.is_paused:
            return self._workers.wait_for_outcomes()
        time.sleep(_POLL_EVERY_S)
        return ()

    def _begin(self) -> bool:
        """Submit ready stages to the workers, and return True if ready stages remain."""
        if self._over_budget:
            return False
        if not self._steering.is_paused:
            while stage := self._waiting.pop_best():
                self._workers.submit(stage)
                self._running[stage.key] = stage
            self._workers.start_submitted()
        self._steering.note_running(self._running.values())
        return self._waiting.has_ready

    def _give_up(self, keys: Collection[str]) -> list[StageRun]:
        """Return a failed outcome for each of these stages that has not started."""
        runs = [StageRun(stage.key, stage.kind, error=GIVEN_UP) for stage in self._waiting.remove(keys)]
        self._failed |= {run.key: run for run in runs}
        return runs

    def _handle(self, outcome: StageRun | LostStage) -> Iterator[StageRun]:
        """Yield the outcomes that result from one report of a worker."""
        del self._running[outcome.key]
        run = self._retry_or_fail(outcome) if isinstance(outcome, LostStage) else outcome
        if run and run.over_budget:
            self._over_budget = run.over_budget
        elif run:
            yield from self._finish(run)

    def _retry_or_fail(self, lost: LostStage) -> StageRun | None:
        """Schedule a stage again that lost its worker. Return its failure after the last attempt, otherwise None."""
        stage = self._stages[lost.key]
        self._n_losses[lost.key] += 1
        if self._n_losses[lost.key] < N_LOSSES:
            log.warning("%s: %s; trying it again", stage.title, lost.why.removesuffix("."))
            self._waiting.add_again(stage)
            return None
        error = f"{stage.title}: {lost.why.removesuffix('.')}; it was tried {N_LOSSES} times"
        return StageRun(stage.key, stage.kind, error=error)

    def _finish(self, first: StageRun) -> Iterator[StageRun]:
        """Yield the outcome of a stage and of the stages that fail with it. Release the stages that were waiting for
        it.
        """
        runs = [first]
        while runs:
            run = runs.pop()
            if run.failed:
                self._failed[run.key] = run
            for stage in self._waiting.release_dependents(run.key):
                if inherited := inherited_failure(stage, self._failed):
                    runs.append(inherited)
                else:
                    self._waiting.add(stage)
            yield run


class _WaitingStages:
    """Stages that have not started, in groups.

    All stages of a group have the same kind and models and prefer the same worker, so they need the same resources.
    Only the first of each group is considered: thousands of ready stages cost no more than one.
    """

    def __init__(self, order: Sequence[AnyStage], workers: Workers) -> None:
        self._order = order
        self._workers = workers
        self._places = {stage.key: position for position, stage in enumerate(order)}
        self._n_missing: dict[str, int] = {}
        self._followers: dict[str, list[AnyStage]] = defaultdict(list)
        self._ready: dict[Hashable, list[int]] = {}
        self._removed: set[str] = set()
        for stage in order:
            missing = [input_stage for input_stage in stage.inputs if input_stage.key in self._places]
            self._n_missing[stage.key] = len(missing)
            for input_stage in missing:
                self._followers[input_stage.key].append(stage)
            if not missing:
                self.add(stage)

    @property
    def has_ready(self) -> bool:
        """True if some stage could start as soon as there is room."""
        return bool(self._ready)

    def add(self, stage: AnyStage) -> None:
        """Add a stage when all its inputs are available."""
        need = (stage.kind, stage.models, self._workers.near(stage))
        insort(self._ready.setdefault(need, []), self._places[stage.key])

    def add_again(self, stage: AnyStage) -> None:
        """Add a stage that lost its worker. It forms a separate group, because workers may run it alone."""
        self._ready[stage.key] = [self._places[stage.key]]

    def release_dependents(self, key: str) -> Iterator[AnyStage]:
        """Yield the stages for which this was the last missing input."""
        for stage in self._followers[key]:
            self._n_missing[stage.key] -= 1
            if not self._n_missing[stage.key] and stage.key not in self._removed:
                yield stage

    def remove(self, keys: Collection[str]) -> list[AnyStage]:
        """Remove these stages if they have not started, and return the removed ones."""
        if not keys:
            return []
        ready = {position for positions in self._ready.values() for position in positions}
        removed = [
            stage
            for position, stage in enumerate(self._order)
            if stage.key in keys and (position in ready or self._n_missing[stage.key])
        ]
        self._removed |= {stage.key for stage in removed}
        remaining = {
            need: [position for position in positions if self._order[position].key not in self._removed]
            for need, positions in self._ready.items()
        }
        self._ready = {need: positions for need, positions in remaining.items() if positions}
        return removed

    def pop_best(self) -> AnyStage | None:
        """Remove and return the next stage to start. None if no ready stage has room."""
        rooms = {need: self._workers.start_priority(self._order[places[0]]) for need, places in self._ready.items()}
        best = max(rooms.values(), default=StartPriority.NONE)
        if best is StartPriority.NONE:
            return None
        needs = [need for need, room in rooms.items() if room is best]
        if best is StartPriority.FAR:
            return self._pop(max(needs, key=lambda need: self._ready[need][-1]), -1)
        return self._pop(min(needs, key=lambda need: self._ready[need][0]), 0)

    def _pop(self, need: Hashable, end: int) -> AnyStage:
        position = self._ready[need].pop(end)
        if not self._ready[need]:
            del self._ready[need]
        return self._order[position]
