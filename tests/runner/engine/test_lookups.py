"""The number of lookups of results in the store: each is a round trip if the store is on a network."""

from collections import Counter
from pathlib import Path

import pytest

from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage_run import Run
from runner.engine.store import Store, manifests
from runner.engine.worker import Worker
from tests.runner.engine.fake_stages import Adder, Left, Right, Source, Sum, Top, add_some
from tests.runner.sweeping import flip_a_byte


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", run_id="this run")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return the number of manifest lookups by kind."""
    counts: Counter[str] = Counter()
    read = manifests.read_small

    def counted(path: Path, max_bytes: int) -> bytes:
        counts[path.parents[2].name] += 1
        return read(path, max_bytes)

    monkeypatch.setattr(manifests, "read_small", counted)
    return counts


def chain() -> list[Sum]:
    source = Source(Adder())
    left, right = Left(Adder(), {"source": source}), Right(Adder(2), {"source": source})
    return [source, left, right, Top(Adder(), {"left": left, "right": right})]


def test_new_stages_are_looked_up_by_the_plan_and_under_the_lock(store: Store, looks: Counter[str]) -> None:
    plan = make_plan([(chain()[-1], 1)], store)
    assert not any(run.failed for run in run_stages(plan.order, store, Local()))
    assert looks == dict.fromkeys(["source", "left", "right", "top"], 2)


def test_reader_without_a_run_does_not_look_for_partial_results(tmp_path: Path, looks: Counter[str]) -> None:
    assert Store(tmp_path).find("source", "0" * 64) is None
    assert looks == {"source": 1}


def test_result_stored_after_the_plan_is_reused(store: Store, looks: Counter[str]) -> None:
    stage = Source(Adder())
    plan = make_plan([(stage, 1)], store)
    Worker(Store(store.root, "another run")).run(stage)
    looks.clear()
    [ended] = run_stages(plan.order, store, Local())
    assert ended.reused
    assert looks == {"source": 1}


class TestPartialResults:
    def test_partial_results_of_a_lost_worker_are_reused_by_the_next(self, store: Store) -> None:
        """The next run repeats the failed requests of the lost worker; this run does not."""
        stage, again = (Source(Adder(), compute=compute) for compute in (add_some, not_again))
        Worker(store).run(stage)
        lock = store.root / "locks" / f"{stage.key}.lock"
        lock.symlink_to("a-worker-that-is-gone:1")
        ended = Worker(Store(store.root, store.run_id)).run(again)
        assert (ended.error, ended.reused) == ("", True)

    def test_partial_results_are_inputs_of_other_workers(self, store: Store) -> None:
        source = Source(Adder(), compute=add_some)
        Worker(store).run(source)
        other = Store(store.root, store.run_id)
        assert not Worker(other).run(Left(Adder(), {"source": source})).failed
        [left] = store.entries("left")
        assert left.manifest.partial

    def test_partial_results_are_cached_only_for_later_plans_of_their_run(self, store: Store) -> None:
        stage = Source(Adder(), compute=add_some)
        Worker(store).run(stage)
        assert make_plan([(stage, 1)], store).order == ()
        assert make_plan([(stage, 1)], Store(store.root, "another run")).order == (stage,)

    def test_damaged_partial_results_are_computed_again(self, store: Store) -> None:
        source = Source(Adder(), compute=add_some)
        Worker(store).run(source)
        flip_a_byte(store.folder("source", source.key, partial=True) / "number.json")
        ended = Worker(Store(store.root, store.run_id)).run(Left(Adder(), {"source": source}))
        assert ended.damaged == (f"source {source.key[:12]}: number.json does not match its checksum",)
        assert not ended.failed


def not_again(stage: Sum, run: Run) -> int:
    raise AssertionError("it was made before")
