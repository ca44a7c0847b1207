"""An executor starts no more than it has room for."""

from pathlib import Path

import pytest

from runner.engine.executors import contexts, processes
from runner.engine.executors.processes import Processes
from runner.engine.executors.protocol import StartPriority
from runner.engine.executors.resources import ResourcesByKind
from runner.engine.plan import make_plan
from runner.engine.schedule import ignore_progress, run_stages
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store
from tests.runner.engine.adding import Greedy, Mortal, Timed


def _spans(notes: Path) -> dict[str, tuple[float, float]]:
    return {path.name: tuple(map(float, path.read_text().split())) for path in notes.glob("*-*")}  # type: ignore[misc]


def _n_beside(name: str, spans: dict[str, tuple[float, float]]) -> int:
    """Return the number of stages that ran at the same time."""
    start, end = spans[name]
    return sum(other != name and first < end and last > start for other, (first, last) in spans.items())


def test_workers_are_limited_to_stages_with_one_warning_above_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(contexts, "n_cores", lambda: 2)
    started = []
    start = processes._WorkerSlot.start
    monkeypatch.setattr(processes._WorkerSlot, "start", lambda *place: started.append(start(*place)))
    stages = {stage.key: stage for stage in (Timed(n, str(tmp_path)) for n in range(3))}
    for n_workers in (2, 100):
        Processes().start(stages, Store(tmp_path / "store"), None, n_workers, ignore_progress, tmp_path).stop()
    assert len(started) == 2 + 3
    (told,) = caplog.messages
    assert told.startswith("run.workers: 3 worker processes share the 2 cores of this machine")


@pytest.mark.parametrize("n_workers", [2, 3])
def test_stage_that_wants_more_cores_than_workers_runs_alone(tmp_path: Path, n_workers: int) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    stages = [Timed(n, str(notes), n_beside=1) for n in range(4)] + [Greedy(n, str(notes)) for n in range(2)]
    store = Store(tmp_path / "store")
    order = make_plan([(stage, 1) for stage in stages], store).order
    runs = list(run_stages(order, store, Processes(), n_workers))
    assert [run.error for run in runs] == [""] * 6
    spans = _spans(notes)
    assert [_n_beside(f"greedy-{n}", spans) for n in range(2)] == [0, 0]
    assert max(_n_beside(f"timed-{n}", spans) for n in range(4)) >= 1, "the others do run side by side"


def test_last_retry_of_a_stage_with_dead_workers_runs_alone(tmp_path: Path) -> None:
    """Two stages that fit into the memory one by one would repeatedly kill each other."""
    stages = [Mortal(0, str(tmp_path)), *(Timed(n, str(tmp_path)) for n in range(4))]
    runs = list(run_stages(stages, Store(tmp_path / "store"), Processes(), 2))
    assert [run.error for run in runs] == [""] * 5
    assert _n_beside("mortal-0", _spans(tmp_path)) == 0


def test_executor_resources_override_the_resources_of_a_stage_kind(tmp_path: Path) -> None:
    stages: list[AnyStage] = [Greedy(0, str(tmp_path)), Greedy(1, str(tmp_path)), Timed(0, str(tmp_path))]
    given: list[tuple[ResourcesByKind, bool]] = [({}, False), ({"greedy": Resources(cpus=1)}, True)]
    for resources, has_room in given:
        workers = Processes(resources).start(
            {stage.key: stage for stage in stages}, Store(tmp_path), None, 2, ignore_progress, tmp_path
        )
        workers.submit(stages[2])
        assert (workers.start_priority(stages[0]) is not StartPriority.NONE) == has_room
        workers.stop()


def test_executor_resources_reject_unknown_kinds_and_negative_cores() -> None:
    (problem,) = Processes({"gredy": Resources()}).check()
    assert problem.startswith("resources.gredy: no stage has this kind; did you mean greedy?")
    assert Resources(cpus=-1, gpus=0.5).check() == ["cpus: got -1, expected at least 0"]
