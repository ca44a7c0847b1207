"""Which stage is next: keeps the workers of an executor busy, and says how each stage ended.

Stages wait for their inputs and fail with them. Of those that are ready the first of the plan begins for which there is
room; one whose models a worker holds goes before one that would load others. A worker that finds nothing near to it
takes what is furthest from the others, the last of the plan: it then has a part of the plan for itself.
"""

import logging
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from components.errors import BudgetReached
from components.openai_server.gate import Gate
from runner.console.endings import endings_deferred
from runner.engine.executors.protocol import N_LOSSES, Executor, Lost, Room, Watch, Workers
from runner.engine.outcome import StageRun, inherited_failure
from runner.engine.stage import AnyStage
from runner.engine.store import Store

log = logging.getLogger(__name__)


def nobody_watches(stage: AnyStage, done: int, total: int) -> None:
    """For stages whose progress nobody watches."""


def run_stages(
    order: Sequence[AnyStage],
    store: Store,
    executor: Executor,
    n_workers: int = 0,
    watch: Watch = nobody_watches,
    gate: Gate | None = None,
    folder: Path = Path(),
) -> Iterator[StageRun]:
    """As `running`, for those who start nothing between the workers and the first stage."""
    with running(order, store, executor, n_workers, watch, gate, folder) as ended:
        yield from ended


@contextmanager
def running(
    order: Sequence[AnyStage],
    store: Store,
    executor: Executor,
    n_workers: int = 0,
    watch: Watch = nobody_watches,
    gate: Gate | None = None,
    folder: Path = Path(),
) -> Iterator[Iterator[StageRun]]:
    """Starts workers, which end with the context. What it gives runs stages, each after its inputs, and yields how they
    ended, in no particular order.

    `gate` is passed by all attempts to ask a model. Raises BudgetReached, once what was under way has ended, if it
    lets no more of them through. For the others see `Executor.start`.
    """
    workers = executor.start({stage.key: stage for stage in order}, store, gate, n_workers, watch, folder)
    try:
        yield _Schedule(order, workers).ended()
    finally:
        with endings_deferred():  # who presses Ctrl-C again would leave workers behind
            workers.stop()
            store.discard_temporary()


class _Schedule:
    """The stages of a plan on their way through the workers."""

    def __init__(self, order: Sequence[AnyStage], workers: Workers) -> None:
        self._stages = {stage.key: stage for stage in order}
        self._waiting = _Waiting(order, workers)
        self._workers = workers
        self._n_running = 0
        self._n_losses: Counter[str] = Counter()
        self._failed: dict[str, StageRun] = {}
        self._over_budget = ""

    def ended(self) -> Iterator[StageRun]:
        """How stages ended, until all have. Raises BudgetReached."""
        is_left = self._begin()
        while is_left or self._n_running:
            runs = [run for each in self._workers.ended() for run in self._told(each)]
            is_left = self._begin()  # so that workers have something to do while the caller is busy with these
            yield from runs
        if self._over_budget:
            raise BudgetReached(self._over_budget)

    def _begin(self) -> bool:
        """Hands out what is ready; returns whether any stage is left."""
        if self._over_budget:
            return False
        while stage := self._waiting.pop_best():
            self._workers.submit(stage)
            self._n_running += 1
        self._workers.hand_out()
        return self._waiting.has_ready

    def _told(self, told: StageRun | Lost) -> Iterator[StageRun]:
        """How stages ended, after what a worker told."""
        self._n_running -= 1
        run = self._given_up(told) if isinstance(told, Lost) else told
        if run and run.over_budget:
            self._over_budget = run.over_budget
        elif run:
            yield from self._ended(run)

    def _given_up(self, lost: Lost) -> StageRun | None:
        """How a stage ended that lost its worker; None if it is tried again."""
        stage = self._stages[lost.key]
        self._n_losses[lost.key] += 1
        if self._n_losses[lost.key] < N_LOSSES:
            log.warning("%s: %s; it is tried again", stage.title, lost.why)
            self._waiting.add_again(stage)
            return None
        return StageRun(stage.key, stage.kind, error=f"{stage.title}: {lost.why}; it was tried {N_LOSSES} times")

    def _ended(self, first: StageRun) -> Iterator[StageRun]:
        """How a stage ended, and what fails with it."""
        runs = [first]
        while runs:
            run = runs.pop()
            if run.failed:
                self._failed[run.key] = run
            for stage in self._waiting.freed_by(run.key):
                if inherited := inherited_failure(stage, self._failed):
                    runs.append(inherited)
                else:
                    self._waiting.add(stage)
            yield run


class _Waiting:
    """Stages that have not begun. Those of one kind with equal models that are near to the same place need the same
    room: of these only the first of the plan is looked at, so that thousands that are ready cost no more than one.
    """

    def __init__(self, order: Sequence[AnyStage], workers: Workers) -> None:
        self._order = order
        self._workers = workers
        self._places = {stage.key: place for place, stage in enumerate(order)}
        self._n_missing: dict[str, int] = {}
        self._followers: dict[str, list[AnyStage]] = defaultdict(list)
        self._ready: dict[Hashable, list[int]] = {}
        for stage in order:
            missing = [before for before in stage.inputs if before.key in self._places]
            self._n_missing[stage.key] = len(missing)
            for before in missing:
                self._followers[before.key].append(stage)
            if not missing:
                self.add(stage)

    @property
    def has_ready(self) -> bool:
        """True if some stage could begin, were there room."""
        return bool(self._ready)

    def add(self, stage: AnyStage) -> None:
        """All that the stage needs is there."""
        need = (stage.kind, stage.models, self._workers.near(stage))
        insort(self._ready.setdefault(need, []), self._places[stage.key])

    def add_again(self, stage: AnyStage) -> None:
        """Add a stage that lost its worker. Its room differs from that of its kind: workers may keep it apart."""
        self._ready[stage.key] = [self._places[stage.key]]

    def freed_by(self, key: str) -> Iterator[AnyStage]:
        """Stages that waited for this one as the last of their inputs."""
        for stage in self._followers[key]:
            self._n_missing[stage.key] -= 1
            if not self._n_missing[stage.key]:
                yield stage

    def pop_best(self) -> AnyStage | None:
        """Takes the stage that is to begin next; None if there is room for none that is ready."""
        rooms = {need: self._workers.room_for(self._order[places[0]]) for need, places in self._ready.items()}
        best = max(rooms.values(), default=Room.NONE)
        if best is Room.NONE:
            return None
        needs = [need for need, room in rooms.items() if room is best]
        if best is Room.FAR:
            return self._pop(max(needs, key=lambda need: self._ready[need][-1]), -1)
        return self._pop(min(needs, key=lambda need: self._ready[need][0]), 0)

    def _pop(self, need: Hashable, end: int) -> AnyStage:
        place = self._ready[need].pop(end)
        if not self._ready[need]:
            del self._ready[need]
        return self._order[place]
