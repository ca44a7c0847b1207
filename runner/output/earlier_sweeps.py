"""Reads earlier sweeps of the same data: how much the scores of its samples vary."""

from collections.abc import Collection, Iterator
from functools import partial
from math import nan
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.clusters import Groups
from components.errors import DataError
from components.statistics import Precision, SampleScores, measured_precision
from components.subsets import OVERALL
from runner import results
from runner.results import OK, CellResult, is_bound
from runner.results.joined_samples import CommonSamples, common_samples, put_most_samples_first
from runner.results.sample_groups import recorded_groups


class EarlierSweep(NamedTuple):
    """Folder of an earlier sweep, and the precision with which its samples tell cells apart."""

    folder: Path
    precision: Precision


class EarlierScores(NamedTuple):
    """Folder of an earlier sweep, and the scores of its cells: float64[n_samples, n_cells], larger ones better.

    `samples` are ids and questions. `costs` are NaN where they are unknown. `n_planned` of the cells are planned.
    """

    folder: Path
    samples: list[tuple[str, str]]
    scores: NDArray[np.float64]
    costs: list[float]
    n_planned: int


def earlier_sweep(
    results_dir: Path, data_key: str, groups: Groups, metric: str, planned: Collection[str]
) -> EarlierSweep | None:
    """Return the sweep in `results_dir` with the most of the `planned` cells (ids), the newest if several have as many.

    Only sweeps count in which two cells over this data, with these groups of samples, differ in the metric. Returns
    None if there is no such sweep. Unreadable sweeps are skipped, because the plan does not need them.
    """
    for folder, joined, larger_is_better in _sweeps(results_dir, data_key, metric, planned, groups):
        scores = SampleScores(joined.statistics, joined.clusters, joined.strata, joined.combine)
        if precision := measured_precision(scores, larger_is_better=larger_is_better):
            return EarlierSweep(folder, precision)
    return None


def earlier_scores(results_dir: Path, data_key: str, metric: str, planned: Collection[str]) -> EarlierScores | None:
    """Return the scores of the sweep that `earlier_sweep` would choose among sweeps whose cells all finished.

    The metric is a mean over samples, with values in [0, 1].
    """
    for folder, joined, larger_is_better in _sweeps(results_dir, data_key, metric, planned, whole=True):
        scores = joined.statistics[:, :, 0] if larger_is_better else 1 - joined.statistics[:, :, 0]
        if np.ptp(scores, axis=1).any():
            costs = [nan if cell.cost is None else cell.cost for cell in joined.cells]
            n_planned = sum(cell.cell_id in planned for cell in joined.cells)
            samples = [(key.id, key.question) for key in joined.keys]
            return EarlierScores(folder, samples, scores, costs, n_planned)
    return None


def _sweeps(
    results_dir: Path,
    data_key: str,
    metric: str,
    planned: Collection[str],
    groups: Groups | None = None,
    *,
    whole: bool = False,
) -> Iterator[tuple[Path, CommonSamples, bool]]:
    """Yield the folders of earlier sweeps, the common samples of their cells, and whether larger values are better.

    With `whole`, sweeps with cells that did not finish are skipped: the finishers of a race are near-equal.
    """
    for folder in _folders_by_shared_cells(results_dir, planned):
        try:
            if whole and any(cell["status"] != OK for cell in results.read_sweep(folder).cells):
                continue
            cells = [
                cell
                for cell in _find_cells(folder, data_key)
                if cell.value(metric) is not None and groups in (None, recorded_groups(cell))
            ]
            larger_is_better = results.larger_is_better(metric, cells)
            if len(cells) < 2 or larger_is_better is None:
                continue
            ordered = put_most_samples_first(cells, metric, OVERALL)
            joined = common_samples(ordered, partial(_cell_folder, folder), metric, OVERALL)
        except (DataError, OSError):  # the sweep is of another version, damaged, deleted, or another user's
            continue
        yield folder, joined, larger_is_better


def _cell_folder(folder: Path, cell: CellResult) -> Path:
    return folder / cell.cell_id


def _folders_by_shared_cells(results_dir: Path, planned: Collection[str]) -> list[Path]:
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
        except FileNotFoundError:  # the folder was just deleted
            return 0.0

    return [path.parent for path in sorted(results_dir.glob("*/sweep.json"), key=written_s, reverse=True)]


def _find_cells(folder: Path, data_key: str) -> Iterator[CellResult]:
    # `sweep.json` names the data too. Cells over other data, perhaps many, are therefore not read.
    for described in results.read_sweep(folder).cells:
        if data_key.startswith(str(described.get("axes", {}).get("dataset.key", data_key))):
            path = folder / described["cell_id"]
            if (path / "cell.json").is_file():
                cell = results.read_cell(path)
                if cell.status == OK and cell.dataset.get("key") == data_key and not is_bound(cell):
                    yield cell
