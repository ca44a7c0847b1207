"""Parameters, metrics and tags of MLflow runs in one transaction of a few statements.

MLflow's SQL store makes two objects per metric and writes them one by one: for a cell with 600 metrics this takes
longer than everything else about the run. The rows that it would write are known, so they are written at once, for
several runs together where they wait: the tables are sorted by a metric's name, so that each run alone would touch
every page of them. Where the tables are not those known here, or behind a server, MLflow's own client does it.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from components.json_value import Json

Client = Any  # MLflow's client and what it returns: MLflow has no types, and is imported late

_METRIC = {"key", "value", "timestamp", "step", "is_nan", "run_uuid"}
_COLUMNS = {
    "metrics": _METRIC,
    "latest_metrics": _METRIC,
    "params": {"key", "value", "run_uuid"},
    "tags": {"key", "value", "run_uuid"},
}
_LARGEST_BATCH = 1000


@dataclass(frozen=True)
class RunValues:
    """What is logged to one run; metrics are finite."""

    run_id: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]


def log_values(client: Client, runs: Sequence[RunValues]) -> None:
    """Logs what the runs of this `MlflowClient` do not have yet. The tags of a run are there only once all else is.
    Raises whatever MLflow or its database raises.
    """
    engine: Any = getattr(_store(client), "engine", None)
    tables = _tables() if engine is not None else {}
    if not tables:
        for run in runs:
            _log_through(client, run)
        return
    rows = _rows(runs)
    with engine.begin() as connection:
        for name, table in tables.items():
            if rows[name]:
                connection.execute(table.insert(), rows[name])


def _store(client: Client) -> Client:
    return getattr(getattr(client, "_tracking_client", None), "store", None)


def _tables() -> dict[str, Json]:
    """MLflow's tables by name; none if any is not made as this module knows it."""
    try:
        from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlMetric, SqlParam, SqlTag
    except ImportError:
        return {}
    tables = {model.__tablename__: model.__table__ for model in (SqlMetric, SqlLatestMetric, SqlParam, SqlTag)}
    found = {name: {column.name for column in table.columns} for name, table in tables.items()}
    return tables if found == _COLUMNS else {}


def _rows(runs: Sequence[RunValues]) -> dict[str, list[dict[str, Json]]]:
    """By table, in the tables' own order."""
    same = {"timestamp": int(time.time() * 1000), "step": 0, "is_nan": False}
    measured = [
        {"key": name, "value": value, "run_uuid": run.run_id, **same}
        for run in runs
        for name, value in run.metrics.items()
    ]
    measured.sort(key=itemgetter("key"))
    return {
        "metrics": measured,
        "latest_metrics": measured,
        "params": [
            {"key": key, "value": value, "run_uuid": run.run_id} for run in runs for key, value in run.params.items()
        ],
        "tags": [
            {"key": key, "value": value, "run_uuid": run.run_id} for run in runs for key, value in run.tags.items()
        ],
    }


def _log_through(client: Client, run: RunValues) -> None:
    from mlflow.entities import Metric, Param, RunTag

    now = int(time.time() * 1000)
    logged = [Metric(name, value, now, 0) for name, value in run.metrics.items()]
    client.log_batch(run.run_id, params=[Param(name, value) for name, value in run.params.items()])
    for first in range(0, len(logged), _LARGEST_BATCH):
        client.log_batch(run.run_id, logged[first : first + _LARGEST_BATCH])
    client.log_batch(run.run_id, tags=[RunTag(name, value) for name, value in run.tags.items()])
