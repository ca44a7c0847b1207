"""Saved views of MLflow's pages: a table of a sweep's cells with the varying axes and headline metrics, and charts.

A view is a tag of the experiment with the state of the page as JSON. A page that does not understand it says so, and
shows its default view.
"""

import json
from collections.abc import Sequence

from components.json_value import Json

TAG = "mlflow.sharedViewState."
"""Name of the tag of a view, followed by the view's id."""

DEFAULT_SERVER = "http://127.0.0.1:5000"
"""Address of `mlflow ui`."""

_MAX_RUNS = 100
_SECTION = "headline-metrics"


def view_link(uri: str, experiment_id: str, view_id: str) -> str:
    """Return the address of a saved view, at the tracking server or at `mlflow ui`."""
    return f"{_server(uri)}/#/experiments/{experiment_id}/runs?viewStateShareKey={view_id}"


def samples_link(uri: str, experiment_id: str, run_ids: Sequence[str]) -> str:
    """Return the address of the page with the traces of one run, or of the first two runs side by side."""
    names = ("selectedRunUuid", "compareToRunUuid")
    runs = "&".join(f"{name}={run_id}" for name, run_id in zip(names, run_ids, strict=False))
    return f"{_server(uri)}/#/experiments/{experiment_id}/evaluation-runs?{runs}"


def file_link(uri: str, experiment_id: str, run_id: str, name: str) -> str:
    """Return the address of the page that shows an artifact of a run."""
    return f"{_server(uri)}/#/experiments/{experiment_id}/runs/{run_id}/artifacts/{name}"


def _server(uri: str) -> str:
    return uri.rstrip("/") if uri.startswith(("http://", "https://")) else DEFAULT_SERVER


def saved_view(
    name: str, now_ms: int, parent_id: str, axes: Sequence[str], metrics: Sequence[str], *, largest_first: bool
) -> str:
    """Return the value of a view's tag: the view shows the child runs of `parent_id`, sorted by the first metric.

    `axes` and `metrics` are names of parameters and metrics in MLflow. `now_ms` is in milliseconds since 1970.
    """
    columns = [*(f"params.`{name}`" for name in axes), *(f"metrics.`{name}`" for name in metrics)]
    state: dict[str, Json] = {
        "searchFilter": f"tags.`mlflow.parentRunId` = '{parent_id}'",
        "orderByKey": f"metrics.`{metrics[0]}`" if metrics else "attributes.start_time",
        "orderByAsc": bool(metrics) and not largest_first,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": columns,
        "compareRunCharts": _charts(axes, metrics),
        "compareRunSections": [
            {
                "uuid": _SECTION,
                "name": "Headline metrics",
                "display": True,
                "isReordered": False,
                "deleted": False,
                "isGenerated": False,
            }
        ],
        "isAccordionReordered": True,
    }
    return json.dumps({"name": name, "createdAt": now_ms, "updatedAt": now_ms, "state": json.dumps(state)})


def _charts(axes: Sequence[str], metrics: Sequence[str]) -> list[dict[str, Json]]:
    """Return a chart of all axes against the first metric, then a bar chart per metric."""
    common = {
        "runsCountToCompare": _MAX_RUNS,
        "metricSectionId": _SECTION,
        "deleted": False,
        "isGenerated": False,
    }
    lines = {
        "type": "PARALLEL",
        "uuid": "axes",
        "displayName": "Axes and the first metric",
        "selectedParams": list(axes),
        "selectedMetrics": list(metrics[:1]),
        "showAllRuns": True,
    }
    bars = [
        {"type": "BAR", "uuid": f"bar-{name}", "metricKey": name, "displayName": name, **common} for name in metrics
    ]
    return [{**lines, **common}, *bars] if axes and metrics else bars
