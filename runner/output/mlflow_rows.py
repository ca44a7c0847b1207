"""Writes whole MLflow runs, several of them in one transaction of a few statements.

MLflow's client creates a run in many steps and commits each of them, and its SQL store makes two objects per metric and
writes them one by one. For a cell with 600 metrics this takes longer than everything else about the cell. This module
knows the rows that MLflow would write, and writes them directly. It writes waiting runs together, because the tables
are sorted by metric: each run alone would touch every page of them.

We use MLflow's client for a tracking server, for files on another machine, and if the tables differ from what
this module expects.
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from components.json_value import Json
from runner.console.private_shortcuts import MLFLOW, may_use_private_parts
from runner.output.artifacts import Client, Content, local_folder, log_files, put_files

if TYPE_CHECKING:  # SQLAlchemy is installed with MLflow, and imported as late
    from sqlalchemy import Connection, Engine, Table

_METRIC = {"key", "value", "timestamp", "step", "is_nan", "run_uuid"}
_COLUMNS = {
    "runs": {
        "run_uuid", "name", "source_type", "source_name", "entry_point_name", "user_id", "status", "start_time",
        "end_time", "deleted_time", "source_version", "lifecycle_stage", "artifact_uri", "experiment_id",
    },
    "metrics": _METRIC,
    "latest_metrics": _METRIC,
    "params": {"key", "value", "run_uuid"},
    "tags": {"key", "value", "run_uuid"},
    "datasets": {
        "dataset_uuid", "experiment_id", "name", "digest", "dataset_source_type", "dataset_source", "dataset_schema",
        "dataset_profile",
    },
    "inputs": {"input_uuid", "source_type", "source_id", "destination_type", "destination_id", "step"},
    "input_tags": {"input_uuid", "name", "value"},
}  # fmt: skip
"""Columns of MLflow's tables, by table."""

_MAX_BATCH_ROWS = 1000
_ROWS_TOGETHER = 10_000
_NAME_TAG = "mlflow.runName"
_CONTEXT = ("mlflow.data.context", "evaluation")
_SOURCE_TYPE = "local"

Rows = list[dict[str, Json]]
"""Rows of a table: values by column."""


@dataclass(frozen=True)
class UsedData:
    """Data set that a run read, as MLflow describes one. `source` and `profile` are JSON."""

    name: str
    digest: str
    source: str
    profile: str


@dataclass(frozen=True)
class FinishedRun:
    """A run that has ended, with everything that is logged to it.

    `tags` contain the run's name as `mlflow.runName`. `last_tags` say that the run is complete. Metrics are finite.
    `files` are by path within the run. `state` is one of MLflow's.
    """

    tags: Mapping[str, str]
    last_tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    data: UsedData
    files: Mapping[str, Content]
    state: str


def log_runs(client: Client, experiment: Client, runs: Iterable[FinishedRun]) -> dict[str, FinishedRun]:
    """Log runs to an experiment, and return them by id, without their files. `client` is an `MlflowClient`.

    The files of a run are in place before the next run is taken from the iterable. In MLflow's tables, either all runs
    appear or none. Through its client, a run gets its `last_tags` after everything else. Raises OSError for files, and
    whatever MLflow or its database raises.
    """
    engine: Engine | None = getattr(_store(client), "engine", None)
    artifacts = local_folder(experiment.artifact_location)
    tables = _tables() if engine else {}
    if engine is None or not tables or artifacts is None:
        return {_log_with_client(client, experiment.experiment_id, run): replace(run, files={}) for run in runs}
    started_ms = _now_ms()
    by_id: dict[str, FinishedRun] = {}
    for run in runs:
        run_id = uuid.uuid4().hex
        put_files(artifacts / run_id / "artifacts", run.files)
        by_id[run_id] = replace(run, files={})
    if by_id:
        with engine.begin() as connection:
            _write(connection, tables, experiment, by_id, started_ms)
    return by_id


def _store(client: Client) -> Client:
    return getattr(getattr(client, "_tracking_client", None), "store", None)


def _tables() -> "dict[str, Table]":
    """Return MLflow's tables by name, or none if any of them has other columns than this module knows."""
    if not may_use_private_parts(MLFLOW):
        return {}
    try:
        from mlflow.store.tracking.dbmodels import models
    except ImportError:
        return {}
    tables = {name: models.Base.metadata.tables.get(name) for name in _COLUMNS}
    columns = {name: {column.name for column in table.columns} for name, table in tables.items() if table is not None}
    return tables if columns == _COLUMNS else {}


def _write(
    connection: "Connection",
    tables: "Mapping[str, Table]",
    experiment: Client,
    runs: Mapping[str, FinishedRun],
    started_ms: int,
) -> None:
    """Write the rows of all tables for runs by id. Metrics have by far the most rows, and are written in batches."""
    now_ms = _now_ms()
    connection.execute(tables["runs"].insert(), _run_rows(experiment, runs, started_ms, now_ms))
    metrics = _metric_rows(runs, now_ms)
    while rows := list(islice(metrics, _ROWS_TOGETHER)):
        connection.execute(tables["metrics"].insert(), rows)
        connection.execute(tables["latest_metrics"].insert(), rows)
    data_ids = _data_ids(connection, tables["datasets"], int(experiment.experiment_id), runs)
    inputs = [_input_row(run_id, data_ids[run.data]) for run_id, run in runs.items()]
    input_tags = [{"input_uuid": row["input_uuid"], "name": _CONTEXT[0], "value": _CONTEXT[1]} for row in inputs]
    params = _pair_rows({run_id: run.params for run_id, run in runs.items()})
    tags = _pair_rows({run_id: {**run.tags, **run.last_tags} for run_id, run in runs.items()})
    for name, rows in {"params": params, "tags": tags, "inputs": inputs, "input_tags": input_tags}.items():
        if rows:
            connection.execute(tables[name].insert(), rows)


def _run_rows(experiment: Client, runs: Mapping[str, FinishedRun], started_ms: int, now_ms: int) -> Rows:
    from mlflow.utils.uri import append_to_uri_path

    return [
        {
            "run_uuid": run_id,
            "name": run.tags[_NAME_TAG],
            "source_type": "UNKNOWN",
            "source_name": "",
            "entry_point_name": "",
            "user_id": "unknown",
            "status": run.state,
            "start_time": started_ms,
            "end_time": now_ms,
            "deleted_time": None,
            "source_version": "",
            "lifecycle_stage": "active",
            "artifact_uri": append_to_uri_path(experiment.artifact_location, run_id, "artifacts"),
            "experiment_id": int(experiment.experiment_id),
        }
        for run_id, run in runs.items()
    ]


def _metric_rows(runs: Mapping[str, FinishedRun], now_ms: int) -> Iterator[dict[str, Json]]:
    """Yield the rows of metrics in the order of the tables: by name, then by run."""
    same = {"timestamp": now_ms, "step": 0, "is_nan": False}
    for name in sorted({name for run in runs.values() for name in run.metrics}):
        for run_id, run in runs.items():
            if name in run.metrics:
                yield {"key": name, "value": run.metrics[name], "run_uuid": run_id, **same}


def _pair_rows(pairs_by_run: Mapping[str, Mapping[str, str]]) -> Rows:
    return [
        {"key": key, "value": value, "run_uuid": run_id}
        for run_id, pairs in pairs_by_run.items()
        for key, value in pairs.items()
    ]


def _data_ids(
    connection: "Connection", table: "Table", experiment_id: int, runs: Mapping[str, FinishedRun]
) -> dict[UsedData, str]:
    """Return the ids of the runs' data sets. A data set has one row per experiment, which is inserted if missing."""
    ids: dict[UsedData, str] = {}
    for data in {run.data for run in runs.values()}:
        same = (table.c.experiment_id == experiment_id, table.c.name == data.name, table.c.digest == data.digest)
        row_of_data = connection.execute(table.select().where(*same)).mappings().first()
        ids[data] = row_of_data["dataset_uuid"] if row_of_data else uuid.uuid4().hex
        if not row_of_data:
            row = {
                "dataset_uuid": ids[data],
                "experiment_id": experiment_id,
                "name": data.name,
                "digest": data.digest,
                "dataset_source_type": _SOURCE_TYPE,
                "dataset_source": data.source,
                "dataset_schema": None,
                "dataset_profile": data.profile,
            }
            connection.execute(table.insert(), row)
    return ids


def _input_row(run_id: str, data_id: str) -> dict[str, Json]:
    return {
        "input_uuid": uuid.uuid4().hex,
        "source_type": "DATASET",
        "source_id": data_id,
        "destination_type": "RUN",
        "destination_id": run_id,
        "step": 0,
    }


def _log_with_client(client: Client, experiment_id: str, run: FinishedRun) -> str:
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag

    created = client.create_run(experiment_id, tags=run.tags)
    run_id = str(created.info.run_id)
    used = Dataset(
        name=run.data.name,
        digest=run.data.digest,
        source_type=_SOURCE_TYPE,
        source=run.data.source,
        profile=run.data.profile,
    )
    client.log_inputs(run_id, [DatasetInput(used, [InputTag(*_CONTEXT)])])
    log_files(client, created, run.files)
    # Before the metrics, because MLflow reads all metrics of a run when its end is set.
    client.set_terminated(run_id, run.state)
    now_ms = _now_ms()
    logged = [Metric(name, value, now_ms, 0) for name, value in run.metrics.items()]
    client.log_batch(run_id, params=[Param(name, value) for name, value in run.params.items()])
    for first in range(0, len(logged), _MAX_BATCH_ROWS):
        client.log_batch(run_id, logged[first : first + _MAX_BATCH_ROWS])
    client.log_batch(run_id, tags=[RunTag(name, value) for name, value in run.last_tags.items()])
    return run_id


def _now_ms() -> int:
    return int(time.time() * 1000)
