"""MLflow: one parent run per sweep, one child run per cell. Reads results files alone: a sweep can be logged again."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from runner.output.terminal import ranked
from runner.pipeline.cell import TrackingSettings
from runner.results import OK, RUNNING, CellResult, SweepResult, read_cell, read_cells, read_sweep, varying_axes

_LARGEST_BATCH = 1000
_STATUS = {OK: "FINISHED", RUNNING: "RUNNING"}


def default_uri(results_dir: Path) -> str:
    """A SQLite file beside the results."""
    return f"sqlite:///{(results_dir.resolve().parent / 'mlflow.db').as_posix()}"


def metric_name(subset: str, metric: str) -> str:
    """MLflow's names hold no "@": overall/ndcg_at_10."""
    return f"{subset}/{metric.replace('@', '_at_')}"


class Tracker:
    """Logs one sweep. Making one creates the database and the experiment, before any other process needs them."""

    def __init__(self, uri: str, experiment: str, sweep_dir: Path) -> None:
        """Raises whatever MLflow raises: the caller decides that a sweep goes on without it."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        # A server that is away must not hold up a sweep: its results can be logged later.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
        from mlflow import MlflowClient

        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self._sweep_dir = sweep_dir
        self._client = MlflowClient(uri)
        self._experiment_id = self._experiment(uri, experiment)
        self._parent_id = ""
        self._logged: dict[str, tuple[str, str]] = {}
        self._varying: list[str] = []

    def _experiment(self, uri: str, name: str) -> str:
        """The experiment's id; artifacts of a local database lie beside it."""
        found = self._client.get_experiment_by_name(name)
        if found:
            return str(found.experiment_id)
        location = None
        if uri.startswith("sqlite:///"):
            location = (Path(uri.removeprefix("sqlite:///")).resolve().parent / "mlartifacts").as_uri()
        # The kind decides which pages the UI opens with: runs and charts, not traces of an application.
        tags = {"mlflow.experimentKind": "custom_model_development"}
        return str(self._client.create_experiment(name, artifact_location=location, tags=tags))

    def start(self, sweep: SweepResult) -> None:
        """Opens the parent run, or finds the one that this sweep has already."""
        self._varying = varying_axes(cell["axes"] for cell in sweep.cells)
        name = f"{sweep.sweep_id}: {len(sweep.cells)} cells, {' x '.join(self._varying) or 'one configuration'}"
        tags = {"mlflow.runName": name, "sweep_id": sweep.sweep_id, "command": sweep.command[:5000]}
        query = f"tags.sweep_id = '{sweep.sweep_id}' and tags.role = 'sweep'"
        found = self._client.search_runs([self._experiment_id], query, max_results=1)
        if found:
            self._parent_id = found[0].info.run_id
            self._logged = dict(self._whole_children())
        else:
            run = self._client.create_run(self._experiment_id, tags={**tags, "role": "sweep"})
            self._parent_id = run.info.run_id

    def _whole_children(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Cells logged to the end, with status and run id; what a broken connection left of others is removed."""
        query = f"tags.`mlflow.parentRunId` = '{self._parent_id}'"
        for run in self._client.search_runs([self._experiment_id], query, max_results=50_000):
            if run.info.status == _STATUS[RUNNING]:
                self._client.delete_run(run.info.run_id)
            else:
                yield run.data.tags.get("cell_id", ""), (run.data.tags.get("status", ""), run.info.run_id)

    def log_cell(self, folder: Path) -> None:
        """One child run from a cell's folder; in place of an earlier one if the status changed."""
        cell = read_cell(folder)
        status, earlier = self._logged.get(cell.cell_id, ("", ""))
        if status == cell.status:
            return
        if earlier:
            self._client.delete_run(earlier)
        run = self._client.create_run(self._experiment_id, tags=_tags(cell, self._parent_id, self._varying))
        self._log_values(run.info.run_id, cell)
        self._client.log_artifacts(run.info.run_id, str(folder))
        self._log_matrices(run.info.run_id, folder, cell.dataset.get("labels", {}))
        self._client.set_terminated(run.info.run_id, _STATUS.get(cell.status, "FAILED"))
        self._logged[cell.cell_id] = (cell.status, run.info.run_id)

    def _log_values(self, run_id: str, cell: CellResult) -> None:
        from mlflow.entities import Dataset as MlflowDataset
        from mlflow.entities import DatasetInput, InputTag, Metric, Param

        params = [Param(name, str(value)) for name, value in cell.axes.items() if value is not None]
        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, 0) for name, value in _metrics(cell)]
        self._client.log_batch(run_id, metrics[:_LARGEST_BATCH], params)
        for first in range(_LARGEST_BATCH, len(metrics), _LARGEST_BATCH):
            self._client.log_batch(run_id, metrics[first : first + _LARGEST_BATCH])
        dataset = MlflowDataset(
            name=str(cell.dataset["name"]),
            digest=str(cell.dataset["key"])[:36],
            source_type="local",
            source=json.dumps({"content_key": cell.dataset["key"]}),
            profile=json.dumps({k: value for k, value in cell.dataset.items() if k.startswith(("n_", "share_"))}),
        )
        self._client.log_inputs(run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", "evaluation")])])

    def _log_matrices(self, run_id: str, folder: Path, labels: Mapping[str, str]) -> None:
        """The matrices as tables that the UI shows, by readable names."""
        for path in sorted(folder.glob("matrix_*.csv")):
            header, *rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
            table = {
                "columns": [labels.get(slug, slug) for slug in header],
                "data": [[labels.get(row[0], row[0]), *(float(v) if v else None for v in row[1:])] for row in rows],
            }
            self._client.log_dict(run_id, table, f"tables/{path.stem}.json")

    def finish(self, sweep: SweepResult, cells: list[CellResult]) -> None:
        """The parent run: the leaderboard as a table and a plot, the sweep's description, the best cell's metrics."""
        metrics, ordered = ranked(cells)
        self._client.log_artifact(self._parent_id, str(self._sweep_dir / "sweep.json"))
        if ordered and metrics and ordered[0].status == OK:
            axes = varying_axes(cell.axes for cell in cells) or ["retriever"]
            rows = [
                [c.cell_id, c.status, *(c.axes.get(a) for a in axes), *(c.value(m) for m in metrics)] for c in ordered
            ]
            self._client.log_dict(
                self._parent_id, {"columns": ["cell", "status", *axes, *metrics], "data": rows}, "leaderboard.json"
            )
            self._client.log_figure(self._parent_id, leaderboard_figure(ordered, axes, metrics[0]), "leaderboard.png")
            for name in metrics:
                if (value := ordered[0].value(name)) is not None:
                    self._client.log_metric(self._parent_id, "best/" + name.replace("@", "_at_"), value)
        self._client.set_tag(self._parent_id, "status", sweep.status)
        self._client.set_tag(self._parent_id, "n_cells", str(len(cells)))
        self._client.set_terminated(self._parent_id, _STATUS.get(sweep.status, "FAILED"))


class SafeTracker:
    """A tracker that never costs a result: the first failure is kept in `error`, and nothing is logged after it."""

    def __init__(self, settings: TrackingSettings, experiment: str, sweep_dir: Path) -> None:
        """Opens nothing yet."""
        self.enabled = settings.enabled
        self._experiment = experiment
        self._sweep_dir = sweep_dir
        self._tracker: Tracker | None = None
        self.uri = settings.uri or default_uri(sweep_dir.parent)
        self.error = ""

    def start(self, sweep: SweepResult) -> None:
        """As `Tracker.start`, with what opens the database before it."""
        self._try(lambda tracker: tracker.start(sweep))

    def log_cell(self, folder: Path) -> None:
        """As `Tracker.log_cell`."""
        self._try(lambda tracker: tracker.log_cell(folder))

    def finish(self) -> None:
        """As `Tracker.finish`, over all that the sweep's folder holds."""
        self._try(lambda tracker: tracker.finish(read_sweep(self._sweep_dir), list(read_cells(self._sweep_dir))))

    def _try(self, action: Callable[[Tracker], None]) -> None:
        if not self.enabled or self.error:
            return
        try:
            # One process at a time: other launchers start several, which share the database and the parent run.
            with FileLock(self._sweep_dir.parent / ".mlflow.lock"):
                self._tracker = self._tracker or Tracker(self.uri, self._experiment, self._sweep_dir)
                action(self._tracker)
        except Exception as error:  # noqa: BLE001 - whatever MLflow raises; it is shown at the end of the sweep
            self.error = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def leaderboard_figure(cells: list[CellResult], axes: list[str], metric: str, most: int = 40) -> Any:
    """Bars of one metric with intervals, best first, at most `most` cells."""
    from matplotlib.figure import Figure

    shown = [cell for cell in cells if cell.value(metric) is not None][:most]
    labels = [
        " ".join(f"{a.split('.')[-1]}={'–' if c.axes.get(a) is None else c.axes[a]}" for a in axes) for c in shown
    ]
    width = max((len(label) for label in labels), default=10)
    figure = Figure(figsize=(5 + 0.075 * width, 1.2 + 0.3 * len(shown)), dpi=110, layout="constrained")
    plot = figure.add_subplot()
    for i, cell in enumerate(shown):
        entry = cell.metrics["overall"][metric]
        value = entry["value"]
        plot.barh(i, value, color="#4477aa", height=0.7)
        plot.errorbar(
            value,
            i,
            xerr=_whiskers(entry),
            color="#222222",
            capsize=2,
            linewidth=1,
        )
    plot.set_yticks(range(len(shown)), labels, fontsize=8)
    plot.invert_yaxis()
    plot.set_xlabel(f"{metric}, all samples, 95% bootstrap interval")
    plot.spines[["top", "right"]].set_visible(False)
    if len(cells) > len(shown):
        plot.set_title(f"the best {len(shown)} of {len(cells)} cells", fontsize=9)
    return figure


def _whiskers(entry: Mapping[str, Any]) -> list[list[float]] | None:
    """How far the interval reaches to the left and the right of the value; None without an interval."""
    if entry["ci_low"] is None:
        return None
    return [[max(0, entry["value"] - entry["ci_low"])], [max(0, entry["ci_high"] - entry["value"])]]


def _tags(cell: CellResult, parent_id: str, varying_axes: list[str]) -> dict[str, str]:
    varied = [f"{name}={cell.axes[name]}" for name in varying_axes if cell.axes.get(name) is not None]
    return {
        "mlflow.parentRunId": parent_id,
        "mlflow.runName": " ".join(varied) or cell.cell_id,
        "role": "cell",
        "cell_id": cell.cell_id,
        "status": cell.status,
        **({"reason": cell.reason[:5000]} if cell.reason else {}),
        "git_commit": cell.git_commit,
        **{f"version.{name}": version for name, version in cell.versions.items()},
        **{f"signature.{name}": signature for name, signature in cell.signatures.items()},
    }


def _metrics(cell: CellResult) -> Iterator[tuple[str, float]]:
    """All metrics but those of matrix cells, which are in the tables; then what the cell cost."""
    for subset, values in cell.metrics.items():
        if not subset.startswith("matrix/"):
            for metric, entry in values.items():
                if entry["value"] is not None:
                    yield metric_name(subset, metric), entry["value"]
    yield from ((f"cost/{name}_tokens", float(n)) for name, n in cell.tokens.items() if n is not None)
    yield from ((f"seconds/{kind}", seconds) for kind, seconds in cell.seconds.items())
    yield from ((f"answers/{state}", float(n)) for state, n in cell.counts.items())
