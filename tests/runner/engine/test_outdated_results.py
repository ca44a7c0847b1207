"""The plan reports cached results of other versions. On request, they and all derived results are computed again."""

from pathlib import Path

import pytest

from components.errors import ConfigError
from runner.engine import environment
from runner.engine.executors.local import Local
from runner.engine.outdated_results import discard
from runner.engine.plan import Plan, make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import AnyStage
from runner.engine.store import Store
from tests.runner.engine.fake_stages import Adder, Left, Right, Source, Top

JIEBA = "0.1"


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def top(calls: Path) -> Top:
    source = Source(Adder(1, calls=str(calls)))
    left, right = (kind(Adder(2, calls=str(calls)), {"a": source}) for kind in (Left, Right))
    return Top(Adder(3, calls=str(calls)), row=(left, right))


def run(stages: AnyStage, folder: Path, *fresh: str) -> Plan:
    """Plan and run the stages like a separate process."""
    store = Store(folder / "store", "this run")
    plan = make_plan([(stages, 1)], store, fresh)
    discard(plan.outdated, store)
    assert not any(run.failed for run in run_stages(plan.order, store, Local()))
    return plan


@pytest.fixture
def outdated_results(top: Top, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: Path) -> None:
    """Compute all stages but `left` with another version of jieba."""
    run(top.row[0], tmp_path)  # type: ignore[index]
    with monkeypatch.context() as then:
        then.setattr(environment, "imported_versions", lambda: {"python": "3.11.1", "jieba": JIEBA, "mlflow": "1"})
        run(top, tmp_path)
    calls.write_text("")


def recorded_calls(calls: Path) -> list[str]:
    return calls.read_text().split()


@pytest.mark.usefixtures("outdated_results")
class TestPlans:
    def test_plan_counts_results_of_other_versions(self, top: Top, tmp_path: Path, calls: Path) -> None:
        plan = run(top, tmp_path)
        assert recorded_calls(calls) == []
        assert plan.others.n_results == plan.summary()["n_cached_of_other_versions"] == 2
        assert plan.others.packages == {("jieba", JIEBA): 2}, "of Python the last number does not count, nor MLflow"
        assert plan.others.kinds == ("right", "top")

    def test_fresh_recomputes_named_kinds_and_downstream_stages(self, top: Top, tmp_path: Path, calls: Path) -> None:
        plan = run(top, tmp_path, "right")
        assert recorded_calls(calls) == [stage.kind for stage in plan.outdated] == ["right", "top"]
        assert plan.others.n_results == 0

    def test_fresh_keeps_results_of_current_versions(self, top: Top, tmp_path: Path, calls: Path) -> None:
        assert run(top, tmp_path, "left").outdated == ()
        assert recorded_calls(calls) == []

    def test_fresh_recomputes_each_kind_once(self, top: Top, tmp_path: Path, calls: Path) -> None:
        run(top, tmp_path, "all")
        calls.write_text("")
        assert run(top, tmp_path, "all").outdated == ()
        assert recorded_calls(calls) == []

    def test_plan_resumes_after_a_kill_between_discarding_and_computing(
        self, top: Top, tmp_path: Path, calls: Path
    ) -> None:
        store = Store(tmp_path / "store", "killed run")
        discard(make_plan([(top, 1)], store, ["right"]).outdated[1:], store)
        plan = run(top, tmp_path, "right")
        assert recorded_calls(calls) == ["right", "top"]
        assert [stage.kind for stage in plan.outdated] == ["right"], "what was discarded is kept no more"

    def test_plan_rejects_unknown_fresh_kinds(self, top: Top, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"run\.fresh: got 'chunkz', expected one of left, .*, all$"):
            run(top, tmp_path, "chunkz")


def test_result_records_only_imported_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jieba", object())
    monkeypatch.delitem(sys.modules, "FlagEmbedding", raising=False)
    found = environment.imported_versions()
    assert found["jieba"] == environment.installed_versions()["jieba"]
    assert "FlagEmbedding" not in found
    assert {"python", "mlflow"} <= found.keys()
