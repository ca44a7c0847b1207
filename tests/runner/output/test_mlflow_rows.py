"""What is written into MLflow's tables at once is what MLflow's own client writes one by one."""

from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from runner.output import mlflow_rows
from runner.output.mlflow_rows import RunValues, log_values

PARAMS = {"retriever": "bm25", "top_k": "5"}
METRICS = {f"topic/{n}/rouge_l": n / 3 for n in range(1200)} | {"overall/length": 1e9, "overall/mrr": -0.0}
TAGS = {"status": "OK"}

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")  # MLflow's own queries


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> MlflowClient:
    return MlflowClient(f"sqlite:///{tmp_path_factory.mktemp('mlflow') / 'mlflow.db'}")


@pytest.fixture(scope="module")
def experiment_id(client: MlflowClient) -> str:
    return str(client.create_experiment("rows"))


def logged(client: MlflowClient, experiment_id: str, *values: dict[str, Any]) -> Run:
    run_id = client.create_run(experiment_id, tags={"mlflow.runName": "a cell"}).info.run_id
    log_values(client, [RunValues(run_id, *values)])
    return client.get_run(run_id)


def through_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow_rows, "_COLUMNS", {})


def test_both_ways_give_the_same_run(client: MlflowClient, experiment_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = logged(client, experiment_id, PARAMS, METRICS, TAGS)
    through_the_client(monkeypatch)
    expected = logged(client, experiment_id, PARAMS, METRICS, TAGS)
    assert (run.data.params, run.data.metrics, run.data.tags) == (
        expected.data.params,
        expected.data.metrics,
        expected.data.tags,
    )
    assert run.data.metrics == METRICS
    name = "topic/7/rouge_l"
    (own,), (other,) = (client.get_metric_history(each.info.run_id, name) for each in (run, expected))
    assert (own.key, own.value, own.step) == (other.key, other.value, other.step)


def test_the_fast_way_is_open(client: MlflowClient) -> None:
    """MLflow's tables are those that this project knows; if not, sweeps are logged slowly, as the client does it."""
    assert set(mlflow_rows._tables()) == {"metrics", "latest_metrics", "params", "tags"}
    assert mlflow_rows._store(client).engine is not None


def test_a_run_may_have_nothing_to_log(client: MlflowClient, experiment_id: str) -> None:
    assert logged(client, experiment_id, {}, {}, {}).data.metrics == {}


def test_several_runs_at_once_are_kept_apart(client: MlflowClient, experiment_id: str) -> None:
    expected = {}
    for number in range(3):
        run_id = client.create_run(experiment_id).info.run_id
        params, metrics, tags = (
            {"top_k": str(number)},
            {"overall/f1": number / 7, f"only/{number}": 1.0},
            {"n": str(number)},
        )
        expected[run_id] = RunValues(run_id, params, metrics, tags)
    log_values(client, list(expected.values()))
    for run_id, values in expected.items():
        data = client.get_run(run_id).data
        assert (data.params, data.metrics) == (values.params, values.metrics)
        assert data.tags["n"] == values.tags["n"]


def test_it_is_all_or_nothing(client: MlflowClient, experiment_id: str) -> None:
    run_id = client.create_run(experiment_id, tags={"status": "there already"}).info.run_id
    with pytest.raises(Exception, match="UNIQUE constraint failed"):
        log_values(client, [RunValues(run_id, PARAMS, METRICS, TAGS)])
    data = client.get_run(run_id).data
    assert (data.params, data.metrics) == ({}, {})


def test_a_found_run_can_be_queried_by_its_metrics(client: MlflowClient, experiment_id: str) -> None:
    run = logged(client, experiment_id, PARAMS, {"overall/f1": 0.123456}, TAGS)
    found = client.search_runs([experiment_id], "metrics.`overall/f1` > 0.1234 and params.retriever = 'bm25'")
    assert [each.info.run_id for each in found] == [run.info.run_id]
