"""The files of MLflow's runs: the cells' own, and tables that its pages show."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from components.json_value import Json
from components.subsets import OVERALL
from runner.console.display import table_cell
from runner.output.artifacts import Content
from runner.output.leaderboard_figure import leaderboard_figure
from runner.output.mlflow_metrics import is_field
from runner.results import CellResult


def cell_files(folder: Path, cell: CellResult) -> dict[str, Content]:
    """A cell's files as they are, its metrics and matrices as tables that the UI shows, by readable names, and the
    versions that it was computed with.
    """
    files: dict[str, Content] = {path.name: path for path in sorted(folder.iterdir()) if path.is_file()}
    tables = {
        f"tables/{path.stem}.json": json_bytes(matrix_table(path)) for path in sorted(folder.glob("matrix_*.csv"))
    }
    tables["tables/metrics.json"] = json_bytes(_metrics_table(cell))
    return {**files, **tables, "versions.json": json_bytes(cell.versions)}


def _metrics_table(cell: CellResult) -> dict[str, Json]:
    """All metrics but those of the matrix, which have tables of their own."""
    return {
        "columns": ["subset", "metric", "value", "low", "high", "n"],
        "data": [
            [subset, table_cell(metric), entry["value"], entry.get("ci_low"), entry.get("ci_high"), entry["n"]]
            for subset, values in cell.metrics.items()
            if not is_field(subset)
            for metric, entry in values.items()
        ],
    }


def matrix_table(path: Path) -> dict[str, Json]:
    """Return a matrix as a table for pages, from its CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return {
        "columns": [table_cell(column) for column in header],
        "data": [[table_cell(row[0]), *(float(v) if v else None for v in row[1:])] for row in rows],
    }


def json_bytes(value: Json) -> bytes:
    """As the files of a run hold it, UTF-8."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8")


def leaderboard_files(cells: Sequence[CellResult], axes: list[str], metrics: Sequence[str]) -> dict[str, Content]:
    """As a table that the UI shows, the first metric with its interval, and as a picture."""
    rows = [
        [
            c.cell_id,
            c.status,
            *(table_cell(c.axes.get(axis)) for axis in axes),
            c.value(metrics[0]),
            *(c.metrics.get(OVERALL, {}).get(metrics[0], {}).get(end) for end in ("ci_low", "ci_high")),
            *(c.value(m) for m in metrics[1:]),
        ]
        for c in cells
    ]
    first, *others = metrics
    table = {"columns": ["cell", "status", *axes, first, f"{first} low", f"{first} high", *others], "data": rows}
    return {"leaderboard.json": json_bytes(table), "leaderboard.svg": leaderboard_figure(cells, axes, metrics[0])}
