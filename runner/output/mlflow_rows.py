"""Whole MLflow runs, several together in one transaction of a few statements.

MLflow's client makes a run in steps, each committed by itself, and its SQL store makes two objects per metric and
writes them one by one: for a cell with 600 metrics this takes longer than everything else about it. The rows that it
would write are known, so they are written at once, for several runs together where they wait: the tables are sorted by
a metric's name, so that each run alone would touch every page of them. Where the tables are not those known here,
behind a server, or where files are not kept on this machine, MLflow's own client does it.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from components.json_value import Json
from runner.output.artifacts import Client, Content, local_folder, log_files, put_files

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
"""By table, those that others refer to first."""

_LARGEST_BATCH = 1000
_NAME_TAG = "mlflow.runName"
_CONTEXT = ("mlflow.data.context", "evaluation")
_SOURCE_TYPE = "local"

Rows = dict[str, list[dict[str, Json]]]
"""By table."""


@dataclass(frozen=True)
class UsedData:
    """The data set that a run read, as MLflow describes one: `source` and `profile` are JSON."""

    name: str
    digest: str
    source: str
    profile: str


@dataclass(frozen=True)
class WholeRun:
    """A run that has ended, with all that is logged to it; metrics are finite, `files` are by path within the run.

    `tags` hold the run's name as `mlflow.runName`; `last_tags` are those that say that nothing is missing. `state` is
    one of MLflow's.
    """

    tags: Mapping[str, str]
    last_tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    data: UsedData
    files: Mapping[str, Content]
    state: str


def log_runs(client: Client, experiment: Client, runs: Sequence[WholeRun]) -> list[str]:
    """Logs runs to an experiment of this `MlflowClient`; returns their ids.

    In MLflow's own tables all of them are there or none; through its client a run has its `last_tags` only once it has
    all else. Raises OSError for files, and whatever MLflow or its database raises.
    """
    engine: Any = getattr(_store(client), "engine", None)
    artifacts = local_folder(experiment.artifact_location)
    tables = _tables() if engine is not None and artifacts is not None else {}
    if not tables or artifacts is None:
        return [_log_through(client, experiment.experiment_id, run) for run in runs]
    ids = [uuid.uuid4().hex for _ in runs]
    with engine.connect() as connection:
        started_ms = _now_ms()
        for run_id, run in zip(ids, runs, strict=True):
            put_files(artifacts / run_id / "artifacts", run.files)
        rows = _rows(experiment, dict(zip(ids, runs, strict=True)), started_ms)
        with connection.begin():
            rows |= _rows_of_data(connection, tables, experiment, dict(zip(ids, runs, strict=True)))
            for name, table in tables.items():
                if rows[name]:
                    connection.execute(table.insert(), rows[name])
    return ids


def _store(client: Client) -> Client:
    return getattr(getattr(client, "_tracking_client", None), "store", None)


def _tables() -> dict[str, Any]:
    """MLflow's tables by name; none if any is not made as this module knows it."""
    try:
        from mlflow.store.tracking.dbmodels import models
    except ImportError:
        return {}
    tables = {name: models.Base.metadata.tables.get(name) for name in _COLUMNS}
    found = {name: {column.name for column in table.columns} for name, table in tables.items() if table is not None}
    return tables if found == _COLUMNS else {}


def _rows(experiment: Client, runs: Mapping[str, WholeRun], started_ms: int) -> Rows:
    """Of runs by id, in the tables' own order; without those of the data."""
    from mlflow.utils.uri import append_to_uri_path

    now_ms = _now_ms()
    same = {"timestamp": now_ms, "step": 0, "is_nan": False}
    measured = [
        {"key": name, "value": value, "run_uuid": run_id, **same}
        for run_id, run in runs.items()
        for name, value in run.metrics.items()
    ]
    measured.sort(key=itemgetter("key"))
    return {
        "runs": [
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
        ],
        "metrics": measured,
        "latest_metrics": measured,
        "params": list(_pairs({run_id: run.params for run_id, run in runs.items()})),
        "tags": list(_pairs({run_id: {**run.tags, **run.last_tags} for run_id, run in runs.items()})),
    }


def _pairs(of_runs: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Json]]:
    for run_id, pairs in of_runs.items():
        for key, value in pairs.items():
            yield {"key": key, "value": value, "run_uuid": run_id}


def _rows_of_data(connection: Any, tables: Mapping[str, Any], experiment: Client, runs: Mapping[str, WholeRun]) -> Rows:
    """A data set has one row in an experiment, whichever runs read it."""
    datasets = tables["datasets"]
    experiment_id = int(experiment.experiment_id)
    ids: dict[tuple[str, str], str] = {}
    rows: Rows = {"datasets": [], "inputs": [], "input_tags": []}
    for run_id, run in runs.items():
        data = run.data
        key = (data.name, data.digest)
        if key not in ids:
            same = (datasets.c.experiment_id == experiment_id, datasets.c.name == key[0], datasets.c.digest == key[1])
            known = connection.execute(datasets.select().where(*same)).mappings().first()
            ids[key] = known["dataset_uuid"] if known else uuid.uuid4().hex
            if not known:
                rows["datasets"].append(
                    {
                        "dataset_uuid": ids[key],
                        "experiment_id": experiment_id,
                        "name": data.name,
                        "digest": data.digest,
                        "dataset_source_type": _SOURCE_TYPE,
                        "dataset_source": data.source,
                        "dataset_schema": None,
                        "dataset_profile": data.profile,
                    }
                )
        input_id = uuid.uuid4().hex
        rows["inputs"].append(
            {
                "input_uuid": input_id,
                "source_type": "DATASET",
                "source_id": ids[key],
                "destination_type": "RUN",
                "destination_id": run_id,
                "step": 0,
            }
        )
        rows["input_tags"].append({"input_uuid": input_id, "name": _CONTEXT[0], "value": _CONTEXT[1]})
    return rows


def _log_through(client: Client, experiment_id: str, run: WholeRun) -> str:
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag

    made = client.create_run(experiment_id, tags=run.tags)
    run_id = str(made.info.run_id)
    used = Dataset(
        name=run.data.name,
        digest=run.data.digest,
        source_type=_SOURCE_TYPE,
        source=run.data.source,
        profile=run.data.profile,
    )
    client.log_inputs(run_id, [DatasetInput(used, [InputTag(*_CONTEXT)])])
    log_files(client, made, run.files)
    # The end comes before the metrics: to set it with them in place makes MLflow read them all.
    client.set_terminated(run_id, run.state)
    now_ms = _now_ms()
    logged = [Metric(name, value, now_ms, 0) for name, value in run.metrics.items()]
    client.log_batch(run_id, params=[Param(name, value) for name, value in run.params.items()])
    for first in range(0, len(logged), _LARGEST_BATCH):
        client.log_batch(run_id, logged[first : first + _LARGEST_BATCH])
    client.log_batch(run_id, tags=[RunTag(name, value) for name, value in run.last_tags.items()])
    return run_id


def _now_ms() -> int:
    return int(time.time() * 1000)
