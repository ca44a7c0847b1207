"""Writing into MLflow's tables in bulk gives the same rows as MLflow's client, which writes step by step."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.output import mlflow_rows
from runner.output.mlflow_rows import FinishedRun, UsedData, log_runs

if TYPE_CHECKING:
    from mlflow import MlflowClient

METRICS = {f"topic/{n}/rouge_l": n / 3 for n in range(1200)} | {"overall/length": 1e9, "overall/mrr": -0.0}
RUN = FinishedRun(
    tags={"mlflow.runName": "bm25 top_k=5", "role": "cell"},
    last_tags={"status": "OK"},
    params={"retriever": "bm25", "top_k": "5"},
    metrics=METRICS,
    data=UsedData("demo", "0" * 36, '{"content_key": "0"}', '{"n_samples": 12}'),
    files={"tables/matrix.json": b"{}"},
    state="FINISHED",
)
OTHER = replace(RUN, tags={"mlflow.runName": "dense"}, params={}, metrics={}, files={}, state="FAILED")

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")  # MLflow's own queries


@pytest.fixture(scope="module")
def client(tracked_run: Path, tmp_path_factory: pytest.TempPathFactory) -> "MlflowClient":
    """Client of an existing database, because MLflow takes a second to create the tables."""
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{shutil.copy(tracked_run / 'mlflow.db', tmp_path_factory.mktemp('mlflow'))}")


@pytest.fixture
def experiment(client: "MlflowClient", tmp_path: Path) -> Any:
    artifacts = (tmp_path / "artifacts").as_uri()
    return client.get_experiment(client.create_experiment(tmp_path.name, artifact_location=artifacts))


def rows_of(client: "MlflowClient", experiment_id: str) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of an experiment by table, without random values and times."""
    of_runs = f"select run_uuid from runs where experiment_id = {experiment_id}"
    wanted = dict.fromkeys(("metrics", "latest_metrics", "params", "tags"), f"run_uuid in ({of_runs})")
    wanted |= dict.fromkeys(("runs", "datasets"), f"experiment_id = {experiment_id}")
    wanted["inputs"] = f"destination_id in ({of_runs})"
    wanted["input_tags"] = f"input_uuid in (select input_uuid from inputs where {wanted['inputs']})"
    database = client._tracking_client.store.engine.url.database
    with sqlite3.connect(database) as connection:
        names = dict(connection.execute("select run_uuid, name from runs"))
        found = {
            table: sorted(
                (tuple(_known(value, names) for value in row) for row in connection.execute(query)),
                key=repr,
            )
            for table, where in wanted.items()
            for query in [f"select * from {table} where {where}"]
        }
    connection.close()
    return found


def _known(value: object, names: dict[str, str]) -> object:
    if isinstance(value, int) and value > 1e12:
        return "a time"
    if isinstance(value, str):
        for run_id, name in names.items():
            value = value.replace(run_id, f"the run {name}")
        return re.sub(r"\b[0-9a-f]{32}\b", "an id", value)
    return value


@pytest.mark.usefixtures("shortcuts")
def test_direct_rows_equal_the_mlflow_client(
    client: "MlflowClient", experiment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = experiment.experiment_id
    assert len(set(log_runs(client, experiment, [RUN, OTHER]))) == 2
    log_runs(client, experiment, [replace(RUN, tags={"mlflow.runName": "later"})])
    own = rows_of(client, place)
    expected_place = client.get_experiment(
        client.create_experiment(f"{experiment.name} expected", artifact_location=experiment.artifact_location)
    )
    monkeypatch.setenv("RAG_GRID_PLAIN", "mlflow")
    for run in (RUN, OTHER, replace(RUN, tags={"mlflow.runName": "later"})):
        log_runs(client, expected_place, [run])
    expected = rows_of(client, expected_place.experiment_id)
    own_id, expected_id = int(place), int(expected_place.experiment_id)
    for table in ("runs", "datasets"):
        expected[table] = [tuple(own_id if v == expected_id else v for v in row) for row in expected[table]]
    assert own == expected
    assert {table: len(rows) for table, rows in own.items()} == {
        "runs": 3, "datasets": 1, "inputs": 3, "input_tags": 3, "params": 4, "tags": 7,
        "metrics": 2 * len(METRICS), "latest_metrics": 2 * len(METRICS),
    }  # fmt: skip


@pytest.mark.usefixtures("shortcuts")
def test_mlflow_tables_match_the_known_columns(client: "MlflowClient") -> None:
    """MLflow's tables are those that this project knows; if not, sweeps are logged slowly, as the client does it."""
    assert set(mlflow_rows._tables()) == set(mlflow_rows._COLUMNS) != set()
    assert mlflow_rows._store(client).engine is not None


def test_simultaneous_runs_keep_their_own_values(client: "MlflowClient", experiment: Any) -> None:
    runs = [
        replace(RUN, params={"top_k": str(n)}, metrics={"overall/f1": n / 7, f"only/{n}": 1.0}, last_tags={"n": str(n)})
        for n in range(3)
    ]
    for run_id, run in zip(log_runs(client, experiment, runs), runs, strict=True):
        found = client.get_run(run_id)
        assert (found.data.params, found.data.metrics) == (run.params, run.metrics)
        assert found.data.tags["n"] == run.last_tags["n"]
        assert [used.dataset.name for used in found.inputs.dataset_inputs] == ["demo"]
        assert [each.path for each in client.list_artifacts(run_id, "tables")] == ["tables/matrix.json"]


def test_mlflow_rows_hold_the_files_of_one_run_at_a_time(
    client: "MlflowClient", experiment: Any, tmp_path: Path
) -> None:
    n_there = []

    def runs() -> Iterator[FinishedRun]:
        for _ in range(3):
            n_there.append(len([*(tmp_path / "artifacts").rglob("matrix.json")]))
            yield RUN

    logged = log_runs(client, experiment, runs())
    assert n_there == [0, 1, 2]
    assert [run.files for run in logged.values()] == [{}, {}, {}]


@pytest.mark.usefixtures("shortcuts")
def test_mlflow_rows_log_all_runs_or_none(client: "MlflowClient", experiment: Any) -> None:
    impossible: Any = {"overall/f1": None}
    with pytest.raises(Exception, match="NOT NULL constraint failed"):
        log_runs(client, experiment, [RUN, replace(RUN, metrics=impossible)])
    assert not any(rows_of(client, experiment.experiment_id).values())


def test_logged_run_can_be_queried_by_its_metrics(client: "MlflowClient", experiment: Any) -> None:
    run_ids = list(log_runs(client, experiment, [replace(RUN, metrics={"overall/f1": 0.123456})]))
    query = "metrics.`overall/f1` > 0.1234 and params.retriever = 'bm25'"
    assert [each.info.run_id for each in client.search_runs([experiment.experiment_id], query)] == run_ids


def test_remote_artifacts_are_logged_through_the_client(
    client: "MlflowClient", experiment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlflow_rows, "local_folder", lambda uri: None)
    (run_id,) = log_runs(client, experiment, [RUN])
    assert client.get_run(run_id).data.tags["status"] == "OK"
    assert [each.path for each in client.list_artifacts(run_id, "tables")] == ["tables/matrix.json"]
