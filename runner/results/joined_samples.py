"""Several cells on the samples that all of them have. Only on these can cells be ranked and tested.

A metric may have no value for a sample of one cell, such as a failed or refused answer, although another cell has one.
Means over different samples then differ although no cell is better.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from hashlib import sha256
from operator import or_
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.records import ScoreState
from components.subsets import OVERALL
from runner.results.cell_axes import are_draws, identify_configuration
from runner.results.cell_result import OK, CellResult
from runner.results.metric_components import combiner
from runner.results.result_files import read_cell
from runner.results.sample_groups import coarsest_groups, recorded_groups
from runner.results.samples_file import read_column_names
from runner.results.scored_samples import (
    Labels,
    SampleKey,
    ScoredSamples,
    distinguishing_labels,
    have_data_versions,
    is_turn_subset,
    read_scored,
)

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]
FindFolder = Callable[[CellResult], Path]

NOT_THERE = "not in this cell"
OTHER_LABELS = "with another history, gold or references"


@dataclass(frozen=True)
class CommonSamples:
    """A metric of `cells` on the samples of a subset for which all of them have a value.

    `statistics` float64[n, n_cells, d] are what the metric is computed from: `combine` of their sums, or their mean if
    `combine` is None. `clusters` int64[n] are groups of dependent samples. `strata` int64[n] are the subsets over which
    a macro mean is taken; other means have a single one. `n_known` is the number of samples that any of the cells has.
    `left_out` counts the samples without a value of each cell, by reason. `value_digests` are hashes of each cell's own
    samples with their values. `apart` are cells that have no sample in common with the others. `keys` identify the
    samples, in order.
    """

    cells: tuple[CellResult, ...]
    keys: tuple[SampleKey, ...]
    statistics: NDArray[np.float64]
    clusters: NDArray[np.int64]
    strata: NDArray[np.int64]
    combine: Combine | None
    n_known: int
    left_out: tuple[Counter[str], ...]
    value_digests: tuple[bytes, ...]
    apart: tuple[CellResult, ...]

    @property
    def n(self) -> int:
        """Number of samples that all cells have."""
        return len(self.statistics)

    @property
    def left_out_differ(self) -> bool:
        """True if some cell has a value for samples that another one lacks, so that its own mean covers
        other samples.
        """
        return any(left_out.total() < self.n_known - self.n for left_out in self.left_out)

    def n_own(self, index: int) -> int:
        """Return the number of samples for which the cell at `index` has a value."""
        return self.n_known - self.left_out[index].total()

    def means(self) -> NDArray[np.float64]:
        """Return the metric of every cell on these samples, float64[n_cells]; NaN without samples."""
        if not self.n:
            return np.full(len(self.cells), np.nan)
        rows_by_stratum = [self.statistics[self.strata == stratum] for stratum in np.unique(self.strata)]
        combine = self.combine
        values = [rows.mean(axis=0)[:, 0] if combine is None else combine(rows.sum(axis=0)) for rows in rows_by_stratum]
        means: NDArray[np.float64] = np.mean(values, axis=0)
        return means


def average_draws(joined: CommonSamples, folder_of: FindFolder) -> CommonSamples:
    """Return the samples with the means over draws (`repeat`, `judge_repeat`) as the scores of every draw.

    The draws of one configuration in one sweep are then equal cells, which tests count once. Otherwise the best cell
    would be the luckiest draw.
    """
    columns_by_configuration: dict[tuple[Path, str], list[int]] = {}
    for column, cell in enumerate(joined.cells):
        configuration = folder_of(cell).parent, identify_configuration(cell)
        columns_by_configuration.setdefault(configuration, []).append(column)
    repeated = [
        columns
        for columns in columns_by_configuration.values()
        if are_draws([joined.cells[column] for column in columns])
    ]
    if not repeated:
        return joined
    statistics, left_out, digests = joined.statistics.copy(), list(joined.left_out), list(joined.value_digests)
    for columns in repeated:
        statistics[:, columns] = joined.statistics[:, columns].mean(axis=1, keepdims=True)
        most_left_out = reduce(or_, (joined.left_out[column] for column in columns))
        digest = sha256(b"".join(joined.value_digests[column] for column in columns)).digest()
        for column in columns:
            left_out[column], digests[column] = most_left_out, digest
    return replace(joined, statistics=statistics, left_out=tuple(left_out), value_digests=tuple(digests))


def mean_entry(cells: Sequence[CellResult], subset: str, metric: str) -> dict[str, Json]:
    """Return the entry of a metric for one row: of equal cells, or of draws of one configuration with their means."""
    entries = [cell.metrics[subset][metric] for cell in cells]
    return {**entries[0], **mean_values(entries)}


def mean_values(entries: Sequence[Mapping[str, Json]]) -> dict[str, float | None]:
    """Return the means of the value and of the interval ends of a metric. A mean is None if any entry has None."""
    return {
        name: None if any(entry[name] is None for entry in entries) else fmean(entry[name] for entry in entries)
        for name in ("value", "ci_low", "ci_high")
        if name in entries[0]
    }


@dataclass(frozen=True)
class CommonMeans:
    """A metric by cell id, over the `n` samples of `n_known` that several cells have in common.

    Empty if the cells' own means are over the same samples anyway.
    """

    n: int = 0
    by_cell: Mapping[str, float] = field(default_factory=dict)
    n_known: int = 0

    def mean(self, cell: CellResult, metric: str, subset: str = OVERALL) -> float | None:
        """Return the value by which a cell is ranked: its value on the common samples, or its own mean if it
        has none.
        """
        return self.by_cell.get(cell.cell_id, cell.value(metric, subset))


OWN_MEANS = CommonMeans()
"""Ranks every cell by its own mean."""


def common_means(cells: Iterable[CellResult], folder_of: FindFolder, metric: str, subset: str = OVERALL) -> CommonMeans:
    """Return the means of the successful cells with a value. Reads files only if some cell leaves a sample out, or if
    a data set was changed between cells.

    Raises DataError if a file cannot be read or lacks the metric.
    """
    valued = [cell for cell in cells if cell.status == OK and cell.value(metric, subset) is not None]
    excludes = any(cell.metrics[subset][metric]["n_excluded"] for cell in valued)
    if not excludes and not have_data_versions(valued):
        return OWN_MEANS
    fullest, *rest = put_most_samples_first(valued, metric, subset)
    # Read the cell again: the caller may hold only the part that leaderboards show.
    joined = common_samples([read_cell(folder_of(fullest)), *rest], folder_of, metric, subset)
    if not joined.left_out_differ and not joined.apart:
        return OWN_MEANS
    ids = (cell.cell_id for cell in joined.cells)
    return CommonMeans(joined.n, dict(zip(ids, joined.means().tolist(), strict=True)), joined.n_known)


def put_most_samples_first(cells: Sequence[CellResult], metric: str, subset: str) -> list[CellResult]:
    """Return the cell with the most values of a metric, then the others in order. All cells have the metric.

    The first is likeliest to have samples in common with the others.
    """
    fullest = max(cells, key=lambda cell: int(cell.metrics[subset][metric]["n"]))
    return [fullest, *(cell for cell in cells if cell is not fullest)]


@dataclass(frozen=True)
class SampleReader:
    """Reads the samples of cells, each from the folder that `folder_of` returns, with their values of `metric`.

    Every file is read once, for any number of subsets.
    """

    folder_of: FindFolder
    metric: str
    _tables: dict[tuple[str, bool, Labels], ScoredSamples] = field(default_factory=dict, repr=False)

    def common(self, cells: Sequence[CellResult], subset: str) -> CommonSamples:
        """Return the common samples of the cells: see `common_samples`."""
        is_corpus = is_corpus_metric(self.folder_of(cells[0]), self.metric)
        labels = distinguishing_labels(cells)
        scored = [self._read(cell, subset, is_corpus=is_corpus, labels=labels) for cell in cells]
        together, common = _overlapping_cells(scored)
        overlapping = [(cells[index], scored[index]) for index in sorted(together)]
        first = scored[0]
        order = [key for key in first.rows if key in common]
        statistics = [samples.statistics[[samples.rows[key] for key in order]] for _, samples in overlapping]
        known = dict.fromkeys(key for _, samples in overlapping for key in samples.rows)
        rows = [first.rows[key] for key in order]
        groups = coarsest_groups(cell for cell, _ in overlapping)
        grouped = next(samples for cell, samples in overlapping if recorded_groups(cell) is groups)
        return CommonSamples(
            cells=tuple(cell for cell, _ in overlapping),
            keys=tuple(order),
            statistics=np.stack(statistics, axis=1),
            clusters=grouped.clusters[[grouped.rows[key] for key in order]],
            strata=first.strata(subset, rows),
            combine=combiner(cells[0], self.metric) if is_corpus else None,
            n_known=len(known),
            left_out=tuple(_missing_by_reason(samples, known) for _, samples in overlapping),
            value_digests=tuple(_digest(samples, known) for _, samples in overlapping),
            apart=tuple(cell for index, cell in enumerate(cells) if index not in together),
        )

    def _read(self, cell: CellResult, subset: str, *, is_corpus: bool, labels: Labels) -> ScoredSamples:
        key = cell.cell_id, is_turn_subset(subset), labels
        if key not in self._tables:
            folder = self.folder_of(cell)
            self._tables[key] = read_scored(
                cell,
                folder,
                self.metric,
                is_corpus=is_corpus,
                with_history=is_turn_subset(subset),
                labels=labels,
            )
        return self._tables[key].in_subset(subset)


def common_samples(cells: Sequence[CellResult], folder_of: FindFolder, metric: str, subset: str) -> CommonSamples:
    """Read the samples of the cells, each from the folder that `folder_of` returns.

    A sample of another data set, or with another question, is a different one, even with the same id. So is one with
    a different history, references or gold documents, if the cells' data differ, or different gold spans in the same
    corpus. If not all cells have samples in common, the first cell stays, and the others join in the order of their
    number of values. Raises DataError if a file cannot be read or lacks the metric.
    """
    return SampleReader(folder_of, metric).common(cells, subset)


def is_corpus_metric(folder: Path, metric: str) -> bool:
    """Return True if the metric has no value for a single sample, as BLEU."""
    return f"score_statistics/{metric}" in read_column_names(folder)


def _overlapping_cells(scored: Sequence[ScoredSamples]) -> tuple[set[int], set[SampleKey]]:
    """Return the indices of the cells that share samples with the first cell, and these samples."""
    valued = [samples.find_valued() for samples in scored]
    common, together = valued[0], {0}
    for index in sorted(range(1, len(scored)), key=lambda index: -len(valued[index])):
        if shared := common & valued[index]:
            common, together = shared, together | {index}
    return together, common


def _digest(samples: ScoredSamples, known: dict[SampleKey, None]) -> bytes:
    valued = samples.find_valued()
    own = [(place, samples.rows[key]) for place, key in enumerate(known) if key in valued]
    places, rows = np.array(own, dtype=np.int64).reshape(-1, 2).T
    return sha256(places.tobytes() + samples.statistics[rows].tobytes()).digest()


def _missing_by_reason(samples: ScoredSamples, known: dict[SampleKey, None]) -> Counter[str]:
    unlabelled = {key[:3] for key in samples.rows}

    def state(key: SampleKey) -> str:
        if key in samples.rows:
            return samples.states[samples.rows[key]]
        return OTHER_LABELS if key[:3] in unlabelled else NOT_THERE

    return Counter(str(found) for found in map(state, known) if found != ScoreState.VALUE)
