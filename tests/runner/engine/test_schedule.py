"""The order of stages, independent of the executor, and stages whose worker died."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from components.errors import BudgetReached
from components.openai_server.limiter import Limiter
from runner.engine.executors.protocol import Executor, LostStage, Stages, StartPriority, Watch, Workers
from runner.engine.outcome import StageRun
from runner.engine.schedule import GIVEN_UP, PersistentWorkers, run_stages, start_schedule
from runner.engine.stage import AnyStage
from runner.engine.steering_requests import Steering
from runner.engine.store import Store
from tests.runner.engine.adding import Number
from tests.runner.engine.fake_stages import Adder, Left, Right, Source, Sum, Top


@dataclass
class Scripted(Workers):
    """Runs nothing. Stages end as `ends` says for their kind (one entry per try), and succeed by default."""

    ends: Mapping[str, list[str]] = field(default_factory=dict)
    n_slots: int = 1
    rooms: Mapping[str, StartPriority] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    n_looks: int = 0
    is_stopped: bool = False

    def __post_init__(self) -> None:
        self._running: list[AnyStage] = []

    def start_priority(self, stage: AnyStage) -> StartPriority:
        self.n_looks += 1
        return (
            self.rooms.get(stage.kind, StartPriority.READY) if len(self._running) < self.n_slots else StartPriority.NONE
        )

    def submit(self, stage: AnyStage) -> None:
        self._running.append(stage)
        self.begun.append(stage.kind)

    def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
        stage = self._running.pop(0)
        end = self.ends[stage.kind].pop(0) if self.ends.get(stage.kind) else ""
        if end == "lost":
            return [LostStage(stage.key, "its machine is gone")]
        is_budget = end == "budget"
        return [StageRun(stage.key, stage.kind, over_budget=end * is_budget, error=end * (not is_budget))]

    def stop(self) -> None:
        self.is_stopped = True


@dataclass(frozen=True)
class Given(Executor):
    """Workers that were made before."""

    workers: Workers

    def check(self) -> list[str]:
        return []

    def start(
        self, stages: Stages, store: Store, limiter: Limiter | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        return self.workers


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def diamond() -> list[Sum]:
    """source -> left, right -> top."""
    source = Source(Adder(1))
    left, right = Left(Adder(1), {"source": source}), Right(Adder(2), {"source": source})
    return [source, left, right, Top(Adder(1), {"left": left, "right": right})]


def errors(workers: Workers, store: Store, order: Sequence[AnyStage] = ()) -> dict[str, str]:
    """Return errors by kind."""
    return {run.kind: run.error for run in run_stages(order or diamond(), store, Given(workers))}


class TestOrder:
    def test_stages_run_in_the_order_of_the_plan_after_their_inputs(self, store: Store) -> None:
        workers = Scripted()
        errors(workers, store)
        assert workers.begun == ["source", "left", "right", "top"]

    def test_stages_without_model_loading_start_first(self, store: Store) -> None:
        workers = Scripted(
            rooms={"left": StartPriority.AGAIN, "source": StartPriority.NEW, "right": StartPriority.READY}
        )
        errors(workers, store, [Left(Adder(1)), Source(Adder(1)), Right(Adder(1))])
        assert workers.begun == ["right", "source", "left"]

    def test_stages_near_other_workers_start_last_in_reverse_order(self, store: Store) -> None:
        workers = Scripted(rooms={"left": StartPriority.FAR, "source": StartPriority.FAR, "right": StartPriority.READY})
        errors(workers, store, [Left(Adder(1)), Source(Adder(1)), Right(Adder(1))])
        assert workers.begun == ["right", "source", "left"]

    def test_next_stage_is_found_in_constant_time(self, store: Store) -> None:
        stages = [Number(n) for n in range(3000)]
        workers = Scripted(n_slots=2)
        assert len(list(run_stages(stages, store, Given(workers)))) == 3000
        assert workers.n_looks < 3 * len(stages)

    def test_stages_wait_until_workers_have_room(self, store: Store) -> None:
        class Growing(Scripted):
            """Has a free worker only after a while."""

            n_slots = 0

            def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
                if self._running:
                    return super().wait_for_outcomes()
                self.n_slots += 1
                return []

        assert errors(Growing(n_slots=0), store) == dict.fromkeys(("source", "left", "right", "top"), "")


class TestLosses:
    def test_stage_is_retried_and_logged_after_two_lost_workers(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        workers = Scripted({"left": ["lost", "lost"]})
        assert set(errors(workers, store).values()) == {""}
        assert workers.begun.count("left") == 3
        assert caplog.messages == ["left: its machine is gone; trying it again"] * 2

    def test_stage_fails_with_its_dependents_after_three_lost_workers(self, store: Store) -> None:
        workers = Scripted({"left": ["lost"] * 3, "right": ["lost"] * 2}, n_slots=2)
        told = "left: its machine is gone; it was tried 3 times"
        assert errors(workers, store) == {"source": "", "left": told, "right": "", "top": told}
        assert "top" not in workers.begun

    def test_last_retry_of_a_lost_stage_starts_alone(self, store: Store) -> None:
        first, second, third = (Number(n) for n in range(3))
        losses = {second.key: 2, first.key: 1}

        class Apart(Scripted):
            """Runs a stage that lost two workers on its own, as `processes` does. The newest stage ends first."""

            def start_priority(self, stage: AnyStage) -> StartPriority:
                is_last_try = losses[second.key] == 0 and second.key in pending
                is_refused = is_last_try and (stage is not second or bool(self._running))
                return StartPriority.NONE if is_refused else super().start_priority(stage)

            def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
                assert self._running, "all stages wait, and none runs"
                stage = self._running.pop()
                if losses.get(stage.key):
                    losses[stage.key] -= 1
                    return [LostStage(stage.key, "its machine is gone")]
                pending.discard(stage.key)
                return [StageRun(stage.key, stage.kind)]

        pending = {first.key, second.key, third.key}
        runs = list(run_stages([first, second, third], store, Given(Apart(n_slots=2))))
        assert {run.key: run.error for run in runs} == dict.fromkeys((first.key, second.key, third.key), "")


class TestEnds:
    def test_budget_ends_the_schedule_after_running_stages(self, store: Store) -> None:
        workers = Scripted({"left": ["budget"]}, n_slots=2)
        with pytest.raises(BudgetReached, match="budget"):
            list(run_stages(diamond(), store, Given(workers)))
        assert workers.begun == ["source", "left", "right"]
        assert workers.is_stopped

    def test_workers_end_with_the_context_even_without_a_consumer(self, store: Store) -> None:
        workers = Scripted()
        with start_schedule(diamond(), store, Given(workers)):
            assert not workers.is_stopped
        assert workers.is_stopped

    def test_failed_input_is_reported_once_for_several_paths(self, store: Store) -> None:
        workers = Scripted({"source": ["no"]})
        runs = list(run_stages(diamond(), store, Given(workers)))
        assert sorted((run.kind, run.error) for run in runs) == [
            (kind, "no") for kind in ("left", "right", "source", "top")
        ]


@dataclass
class Steered(Steering):
    """A user whose requests the schedule reads regularly. Each time, it is paused or not, and stages are abandoned."""

    looks: Sequence[tuple[bool, Collection[str]]]
    paused: bool = False
    n_looks: int = 0
    seen: list[tuple[bool, list[str]]] = field(default_factory=list)

    @property
    def is_paused(self) -> bool:
        return self.paused

    def look(self) -> Collection[str]:
        self.paused, keys = self.looks[min(self.n_looks, len(self.looks) - 1)]
        self.n_looks += 1
        return keys

    def note_running(self, stages: Iterable[AnyStage]) -> None:
        self.seen.append((self.paused, [stage.kind for stage in stages]))


def steered(workers: Scripted, store: Store, steering: Steered) -> list[tuple[str, str]]:
    """Return the kind and the error of each outcome."""
    with (
        PersistentWorkers(store, Given(workers), 0, None, Path(), steering) as persistent,
        persistent.running(diamond()) as ended,
    ):
        return [(run.kind, run.error) for run in ended]


class TestSteering:
    def test_paused_schedule_starts_no_stage_until_resumed(self, store: Store) -> None:
        workers, steering = Scripted(), Steered([(False, ()), (True, ()), (True, ()), (False, ())])
        assert steered(workers, store, steering) == [(kind, "") for kind in ("source", "left", "right", "top")]
        assert [kinds for paused, kinds in steering.seen if paused] == [[], []]
        assert not steering.paused

    def test_running_stages_finish_during_a_pause(self, store: Store) -> None:
        workers = Scripted(n_slots=2)
        steering = Steered([(False, ()), (False, ()), (True, ()), (True, ()), (False, ())])
        assert [kind for kind, _ in steered(workers, store, steering)] == ["source", "left", "right", "top"]
        assert [kinds for paused, kinds in steering.seen if paused] == [["right"], []]

    def test_stopped_stages_do_not_start(self, store: Store) -> None:
        workers = Scripted()
        _, left, _, top = diamond()
        ended = steered(workers, store, Steered([(False, ()), (False, {left.key, top.key}), (False, ())]))
        assert sorted(ended) == [("left", GIVEN_UP), ("right", ""), ("source", ""), ("top", GIVEN_UP)]
        assert workers.begun == ["source", "right"]

    def test_running_stage_that_is_stopped_finishes(self, store: Store) -> None:
        workers = Scripted(n_slots=2)
        _, left, right, top = diamond()
        looks = [(False, ()), (False, ()), (False, {left.key, right.key, top.key}), (False, ())]
        assert steered(workers, store, Steered(looks)) == [
            ("source", ""), ("left", ""), ("top", GIVEN_UP), ("right", ""),
        ]  # fmt: skip

    def test_stages_stopped_during_a_pause_never_run(self, store: Store) -> None:
        workers = Scripted()
        keys = {stage.key for stage in diamond()}
        assert {error for _, error in steered(workers, store, Steered([(True, ()), (True, keys)]))} == {GIVEN_UP}
        assert workers.begun == []
