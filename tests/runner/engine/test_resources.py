"""An executor starts no more than it has room for."""

from pathlib import Path

import pytest

from runner.engine.executors import run_stages
from runner.engine.plan import make_plan
from runner.engine.store import Store
from tests.runner.engine.adding import Greedy, Timed


def _spans(notes: Path) -> dict[str, tuple[float, float]]:
    return {path.name: tuple(map(float, path.read_text().split())) for path in notes.iterdir()}  # type: ignore[misc]


def _n_beside(name: str, spans: dict[str, tuple[float, float]]) -> int:
    """How many others ran while this one did."""
    start, end = spans[name]
    return sum(other != name and first < end and last > start for other, (first, last) in spans.items())


@pytest.mark.parametrize("n_workers", [2, 3])
def test_a_stage_that_wants_more_cores_than_there_are_workers_runs_alone(tmp_path: Path, n_workers: int) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    stages = [Timed(n, str(notes)) for n in range(4)] + [Greedy(n, str(notes)) for n in range(2)]
    store = Store(tmp_path / "store")
    order = make_plan([(stage, 1) for stage in stages], store).order
    runs = list(run_stages(order, store, n_workers, lambda stage, done, total: None))
    assert [run.error for run in runs] == [""] * 6
    spans = _spans(notes)
    assert [_n_beside(f"greedy-{n}", spans) for n in range(2)] == [0, 0]
    assert max(_n_beside(f"timed-{n}", spans) for n in range(4)) >= 1, "the others do run side by side"
