"""The plan of any stages; tests/runner/pipeline/test_planned_cells.py has the plan of sweeps."""

from pathlib import Path

import pytest

from runner.engine.executors.local import Local
from runner.engine.plan import Plan, make_plan
from runner.engine.schedule import run_stages
from runner.engine.store import Store
from tests.runner.engine.fake_stages import Adder, Left, Right, Source, Top


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", "this run")


def models(plan: Plan) -> list[str]:
    """Return the models of the planned stages in the order of the run."""
    return [stage.component.model for stage in plan.order if stage.models]  # type: ignore[attr-defined]


def run_all(plan: Plan, store: Store) -> None:
    assert not any(run.failed for run in run_stages(plan.order, store, Local()))


class TestCounts:
    def test_plan_lists_kinds_in_the_order_of_the_work(self, store: Store) -> None:
        source = Source(Adder(0))
        left, right = Left(others={"a": source}), Right(others={"a": source, "b": Left(others={"a": source})})
        top = Top(row=(left, right))
        plan = make_plan([(top, 3), (left, 1)], store)
        found = [(kind.kind, kind.n_requested, kind.n_unique, kind.n_cached, kind.n_to_run) for kind in plan.kinds]
        assert found == [("source", 4, 1, 0, 1), ("left", 4, 1, 0, 1), ("right", 3, 1, 0, 1), ("top", 3, 1, 0, 1)]

    def test_plan_omits_cached_stages(self, store: Store) -> None:
        source = Source(Adder(0))
        run_all(make_plan([(Left(others={"a": source}), 1)], store), store)
        plan = make_plan([(Top(row=(Left(others={"a": source}), Right(others={"a": source}))), 1)], store)
        assert [stage.kind for stage in plan.order] == ["right", "top"]
        assert {kind.kind: kind.n_cached for kind in plan.kinds} == {"source": 1, "left": 1, "right": 0, "top": 0}


class TestOrder:
    @pytest.mark.parametrize("names", [("large", "small"), ("small", "large")])
    def test_plan_groups_stages_of_one_model(self, store: Store, names: tuple[str, str]) -> None:
        source = Source(Adder(0))
        answers = [Left(Adder(model=model), {"data": source}, depth=n) for n in range(3) for model in names]
        results = [Top(Adder(n), {"answers": stage}) for n, stage in enumerate(answers)]
        plan = make_plan([(result, 1) for result in results], store)
        assert models(plan) == [names[0]] * 3 + [names[1]] * 3

    def test_plan_runs_stages_without_a_model_as_early_as_possible(self, store: Store) -> None:
        """The first result is complete before the next model is loaded, though its inputs needed models."""
        source = Source(Adder(0))
        answers = [Left(Adder(model=model), {"data": source}) for model in ("large", "small")]
        plan = make_plan([(Top(Adder(n), {"answers": stage}), 1) for n, stage in enumerate(answers)], store)
        assert [stage.kind for stage in plan.order] == ["source", "left", "top", "left", "top"]

    def test_cells_finish_in_order_regardless_of_graph_depth(self, store: Store) -> None:
        """A stage of a later cell must not run before a shallow stage of an earlier cell."""
        source = Source(Adder(0))
        tops = [
            Top(row=(Left(Adder(n), {"a": Left(Adder(n), {"a": source})}), Right(Adder(n), {"a": source})))
            for n in range(3)
        ]
        order = [stage.key for stage in make_plan([(top, 1) for top in tops], store).order]
        ends = [order.index(top.key) for top in tops]
        begins = [min(order.index(stage.key) for stage in top.inputs) for top in tops]
        assert ends[0] < begins[1] < ends[1] < begins[2] < ends[2]

    def test_stages_of_a_loaded_model_run_before_the_next_model(self, store: Store) -> None:
        """Two consecutive stages may need one model, so reranking waits for embedding."""
        source = Source(Adder(0))
        first = Left(Adder(1, model="one"), {"data": source})
        other = Left(Adder(1, model="other"), {"data": source})
        second = Right(Adder(1, model="one"), {"vectors": first})
        plan = make_plan([(Top(Adder(1), {"a": other, "b": second}), 1)], store)
        assert models(plan) in (["one", "one", "other"], ["other", "one", "one"])
