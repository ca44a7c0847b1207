"""Makes the files of MLflow's runs: the files of cells, and tables that MLflow's pages show."""

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
    """Return the files of a cell by name, with tables of its metrics and matrices, and the versions of packages.

    The files of the cell are unchanged. Links are left out, because links in results of others may point anywhere.
    MLflow's pages show the tables.
    """
    paths = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink()]
    files: dict[str, Content] = {path.name: path for path in paths}
    tables = {
        f"tables/{path.stem}.json": json_bytes(matrix_table(path)) for path in sorted(folder.glob("matrix_*.csv"))
    }
    tables["tables/metrics.json"] = json_bytes(_metrics_table(cell))
    return {**files, **tables, "versions.json": json_bytes(cell.versions)}


def _metrics_table(cell: CellResult) -> dict[str, Json]:
    """Return all metrics except those of matrix fields, which have separate tables."""
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
    """Encode a value as JSON in UTF-8, without escapes."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8")


def leaderboard_files(cells: Sequence[CellResult], axes: list[str], metrics: Sequence[str]) -> dict[str, Content]:
    """Return the leaderboard as a table, in which the first metric has its interval, and as a picture."""
    first, *others = metrics
    rows = [
        [
            cell.cell_id,
            cell.status,
            *(table_cell(cell.axes.get(axis)) for axis in axes),
            cell.value(first),
            *(cell.metrics.get(OVERALL, {}).get(first, {}).get(end) for end in ("ci_low", "ci_high")),
            *(cell.value(name) for name in others),
        ]
        for cell in cells
    ]
    table = {"columns": ["cell", "status", *axes, first, f"{first} low", f"{first} high", *others], "data": rows}
    return {"leaderboard.json": json_bytes(table), "leaderboard.svg": leaderboard_figure(cells, axes, first)}
