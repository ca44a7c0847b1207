"""Measures on earlier sweeps of the same data how much the scores of its samples vary."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from components.clusters import Groups
from components.errors import DataError
from components.statistics import Precision, SampleScores, measured_precision
from components.subsets import OVERALL
from runner import results
from runner.results import OK, CellResult
from runner.results.joined_samples import common_samples, most_samples_first
from runner.results.sample_groups import recorded_groups


class Earlier(NamedTuple):
    """Folder of an earlier sweep, and the precision with which its samples tell cells apart."""

    folder: Path
    precision: Precision


def earlier_sweep(
    results_dir: Path, data_key: str, groups: Groups, metric: str, planned: Collection[str]
) -> Earlier | None:
    """Return the sweep in `results_dir` with the most of the `planned` cells (ids), the newest if several have as many.

    Only sweeps count in which two cells over this data, with these groups of samples, differ in the metric. Returns
    None without such a sweep. Unreadable sweeps are skipped, because the plan can do without.
    """
    for folder in _most_shared_first(results_dir, planned):
        try:
            cells = [
                cell
                for cell in _cells_over(folder, data_key)
                if cell.value(metric) is not None and recorded_groups(cell) is groups
            ]
            precision = _precision(folder, cells, metric)
        except (DataError, OSError):  # another version of the project, damaged, just deleted, or another user's files
            continue
        if precision:
            return Earlier(folder, precision)
    return None


def _most_shared_first(results_dir: Path, planned: Collection[str]) -> list[Path]:
    """Return the folders of sweeps, those with the most planned cells first.

    The variance of differences depends on the cells. Planned cells measure it, others only approximate it.
    """

    def n_shared(folder: Path) -> int:
        try:
            return sum((folder / cell_id / "cell.json").is_file() for cell_id in planned)
        except OSError:  # another user's folder: it comes last, and is skipped if it cannot be read either
            return 0

    return sorted(_newest_first(results_dir), key=n_shared, reverse=True)


def _newest_first(results_dir: Path) -> list[Path]:
    def written_s(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except FileNotFoundError:  # just deleted
            return 0.0

    return [path.parent for path in sorted(results_dir.glob("*/sweep.json"), key=written_s, reverse=True)]


def _cells_over(folder: Path, data_key: str) -> Iterator[CellResult]:
    # `sweep.json` names the data too. Cells over other data, perhaps many, are therefore not read.
    for described in results.read_sweep(folder).cells:
        if data_key.startswith(str(described.get("axes", {}).get("dataset.key", data_key))):
            path = folder / described["cell_id"]
            if (path / "cell.json").is_file():
                cell = results.read_cell(path)
                if cell.status == OK and cell.dataset.get("key") == data_key:
                    yield cell


def _precision(folder: Path, cells: list[CellResult], metric: str) -> Precision | None:
    larger_is_better = results.larger_is_better(metric, cells)
    if len(cells) < 2 or larger_is_better is None:
        return None
    ordered = most_samples_first(cells, metric, OVERALL)
    joined = common_samples(ordered, lambda cell: folder / cell.cell_id, metric, OVERALL)
    scores = SampleScores(joined.statistics, joined.clusters, joined.strata, joined.combine)
    return measured_precision(scores, larger_is_better=larger_is_better)
