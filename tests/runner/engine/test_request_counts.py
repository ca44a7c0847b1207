"""Requests that a plan counts before they are sent; requests of the pipeline's stages are in
tests/runner/pipeline/test_requests.py.
"""

from pathlib import Path

import pytest

from components.errors import ComponentError
from components.llms.scripted import Scripted
from runner.engine.executors.local import Local
from runner.engine.plan import Plan, make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store
from tests.runner.engine.fake_stages import Adder, Source, Sum, request


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", "this run")


class Asked(Sum, kind="asked"):
    """Asks for texts; some texts may be equal."""

    llm: Scripted = Scripted()
    texts: tuple[str, ...] = ("a", "b")
    needs: int = 0
    rounds: int = 1

    @property
    def n_requests(self) -> int:
        return len(self.texts) * self.rounds

    @property
    def n_rounds(self) -> int:
        return self.rounds

    def make(self, run: Run) -> int:
        for other in self.inputs:
            run.read(other)
        if self.needs:
            raise ComponentError("cannot tell yet")
        return len(run.ask(self.llm, "answers")([request(text) for text in self.texts]))


def run_all(plan: Plan, store: Store) -> None:
    assert not any(run.failed for run in run_stages(plan.order, store, Local()))


def requests(plan: Plan) -> list[tuple[str, int, bool]]:
    return [(count.kind, count.n_requests, count.is_exact) for count in plan.requests]


def test_requests_without_inputs_are_counted(store: Store) -> None:
    plan = make_plan([(Asked(texts=("a", "b", "a")), 1)], store)
    assert requests(plan) == [("asked", 2, True)]
    assert plan.n_requests == 2
    assert plan.summary()["requests"] == {"asked": 2}


def test_requests_behind_uncached_inputs_are_estimated(store: Store) -> None:
    source = Source(Adder(0))
    plan = make_plan([(Asked(others={"a": source}, texts=("a", "b", "a")), 1)], store)
    assert requests(plan) == [("asked", 3, False)]
    run_all(make_plan([(source, 1)], store), store)
    plan = make_plan([(Asked(others={"a": source}, texts=("a", "b", "a")), 1)], store)
    assert requests(plan) == [("asked", 2, True)]


def test_equal_requests_of_several_stages_are_counted_once(store: Store) -> None:
    plan = make_plan([(Asked(texts=("a", "b")), 1), (Asked(texts=("b", "c")), 1)], store)
    assert requests(plan) == [("asked", 3, True)]


def test_plan_subtracts_cached_replies_and_cached_stages(store: Store) -> None:
    plan = make_plan([(Asked(texts=("a", "b")), 1)], store)
    run_all(plan, store)
    assert requests(make_plan([(Asked(texts=("a", "b")), 1)], store)) == []
    assert requests(make_plan([(Asked(texts=("b", "c")), 1)], store)) == [("asked", 1, True)]
    other = Asked(texts=("b", "c"), llm=Scripted(reply="other"))
    assert requests(make_plan([(other, 1)], store)) == [("asked", 2, True)]


def test_counting_requests_sends_and_stores_nothing(store: Store) -> None:
    make_plan([(Asked(llm=Scripted(delay_s=60)), 1)], store)
    assert list((store.root / "replies").iterdir()) == []
    assert list(store.entries()) == []


def test_requests_of_a_stage_that_cannot_count_are_estimated(store: Store) -> None:
    plan = make_plan([(Asked(needs=1), 1)], store)
    assert requests(plan) == [("asked", 2, False)]


def test_follow_up_requests_are_estimated_for_every_first_request(store: Store) -> None:
    stage = Asked(texts=("a", "b", "c"), rounds=2)
    assert requests(make_plan([(stage, 1)], store)) == [("asked", 6, False)]
    run_all(make_plan([(Asked(texts=("a", "b")), 1)], store), store)
    assert requests(make_plan([(stage, 1)], store)) == [("asked", 2, False)]


def test_exact_and_estimated_requests_of_a_kind_are_added(store: Store) -> None:
    stages: list[Stage[int]] = [Asked(texts=("a",)), Asked(others={"a": Source(Adder(0))}, texts=("a", "b"))]
    assert requests(make_plan([(stage, 1) for stage in stages], store)) == [("asked", 3, False)]
