"""The contract of every executor, whatever kind of workers it starts."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from components.errors import StoreError
from runner.engine.executors.protocol import Executor
from runner.engine.outcome import StageRun
from runner.engine.schedule import PersistentWorkers, run_stages, start_schedule
from runner.engine.store import Store
from tests.runner.engine.fake_stages import Adder, Left, Right, Source, Sum, Top, add, fail
from tests.runner.engine.process_stages import die_again, noted


def chain(calls: Path, **computes: Any) -> list[Sum]:
    """source -> left, right -> top. A keyword names another function for a stage."""
    component = Adder(1, calls=str(calls))
    source = Source(component, compute=computes.get("source", add))
    left = Left(component, {"source": source}, compute=computes.get("left", add))
    right = Right(Adder(2, calls=str(calls)), {"source": source}, compute=computes.get("right", add))
    return [source, left, right, Top(component, {"left": left, "right": right})]


def result(store: Store, stage: Sum) -> int:
    """The stored result of a stage, as another process reads it."""
    entry = Store(store.root, store.run_id).find(stage.kind, stage.key)
    assert entry is not None, f"{stage.kind} is not in the store"
    return stage.codec.decode(entry.parts())


class ExecutorContract:
    """Contract of executors. A subclass names the executor, and says whether a stage may end its own process."""

    executor: Executor
    n_workers: ClassVar[int] = 2
    outlives_workers: ClassVar[bool] = True

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return Store(tmp_path / "store", run_id="this run")

    @pytest.fixture
    def calls(self, tmp_path: Path) -> Path:
        return tmp_path / "calls.txt"

    def ended(self, order: list[Sum], store: Store) -> dict[str, StageRun]:
        """Count the outcomes of stages by kind."""
        return {own.kind: own for own in run_stages(order, store, self.executor, self.n_workers)}

    def test_executor_passes_its_own_check(self) -> None:
        assert list(self.executor.check()) == []

    def test_executor_runs_each_stage_once_after_its_inputs(self, store: Store, calls: Path) -> None:
        order = chain(calls)
        ended = self.ended(order, store)
        assert [own.error for own in ended.values() if own.failed] == []
        assert result(store, order[-1]) == (1 + 1) + (1 + 2) + 1
        assert sorted(noted(calls)) == ["left", "right", "source", "top"]
        assert noted(calls)[0] == "source"
        assert noted(calls)[-1] == "top"

    def test_stored_results_are_reused(self, store: Store, calls: Path) -> None:
        self.ended(chain(calls), store)
        again = self.ended(chain(calls), store)
        assert all(own.reused for own in again.values())
        assert len(noted(calls)) == 4

    def test_persistent_workers_run_later_stages(self, store: Store, calls: Path) -> None:
        source, left, *others = chain(calls)
        with PersistentWorkers(store, self.executor, self.n_workers, None, calls.parent) as workers:
            for order in [source, left], others:
                with workers.running(order) as ended:
                    assert [own.error for own in ended if own.failed] == []
        assert result(store, others[-1]) == (1 + 1) + (1 + 2) + 1
        assert sorted(noted(calls)) == ["left", "right", "source", "top"]

    def test_failed_stage_fails_only_stages_that_depend_on_it(self, store: Store, calls: Path) -> None:
        order = chain(calls, left=fail)
        ended = self.ended(order, store)
        assert {kind for kind, own in ended.items() if own.failed} == {"left", "top"}
        assert "is not to be added" in ended["left"].error
        assert result(store, order[2]) == 1 + 2

    def test_stage_that_kills_its_worker_fails_with_its_dependents_only(self, store: Store, calls: Path) -> None:
        if not self.outlives_workers:
            pytest.skip("stages run in the process of the command")
        order = chain(calls, left=die_again)
        ended = self.ended(order, store)
        assert {kind for kind, own in ended.items() if own.failed} == {"left", "top"}
        assert result(store, order[2]) == 1 + 2

    def test_stopped_run_leaves_only_complete_results(self, store: Store, calls: Path) -> None:
        order = chain(calls)
        with start_schedule(order, store, self.executor, self.n_workers) as runs:
            first = next(iter(runs))
        assert not first.failed
        for stage in order:
            entry = Store(store.root, store.run_id).find(stage.kind, stage.key)
            if entry is not None:
                assert isinstance(stage.codec.decode(entry.parts()), int)
        assert [own.error for own in self.ended(chain(calls), store).values() if own.failed] == []

    def test_unwritable_store_ends_the_run(self, store: Store, calls: Path, tmp_path: Path) -> None:
        order = chain(calls)
        entries = store.root / "entries"
        entries.rename(tmp_path / "elsewhere")
        entries.write_text("a file where the folder was", encoding="utf-8")
        with pytest.raises(StoreError):
            list(run_stages(order, store, self.executor, self.n_workers))
