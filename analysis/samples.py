"""Scores per sample of several cells, joined by sample id."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.statistics import SampleScores
from components.errors import DataError
from components.records import ScoreState
from components.subsets import MACRO, subsets_of
from runner.loaded import SubsetMetric
from runner.results import CellResult, combiner

OTHER_DATA = "of another data set"


@dataclass(frozen=True)
class Joined:
    """A metric of several cells on the samples of the first one, the baseline.

    `left_out` counts, for every cell but the baseline, the samples for which one of the two has no value, by reason;
    each sample counts once.
    """

    scores: SampleScores
    left_out: tuple[Counter[str], ...]


@dataclass(frozen=True)
class _Scored:
    """A metric of one cell over a subset: `statistics` float64[n_samples, d] and `states`, for the samples `ids`."""

    ids: list[str]
    questions: list[str]
    statistics: NDArray[np.float64]
    states: list[str]


def join(folder: Path, metric: SubsetMetric, baseline: CellResult, cells: Sequence[CellResult]) -> Joined:
    """Reads the samples of the cells of the sweep in `folder`.

    A sample of another data set, or with another question, is a different one, whatever its id. Raises DataError if a
    file cannot be read or lacks the metric.
    """
    of_a_corpus = is_of_a_corpus(folder, metric, baseline)
    table = _read(folder, baseline, metric, of_a_corpus, ["cluster"])
    own = _scored(table, metric, baseline, of_a_corpus)
    statistics, has_value = [own.statistics], [[state == ScoreState.VALUE for state in own.states]]
    left_out = []
    for cell in cells:
        other = _scored(_read(folder, cell, metric, of_a_corpus), metric, cell, of_a_corpus)
        is_of_another = cell.dataset.get("name") != baseline.dataset.get("name")
        states = [OTHER_DATA] * len(own.ids) if is_of_another else _states(own, other)
        statistics.append(_aligned(own, other))
        has_value.append([state == ScoreState.VALUE for state in states])
        n_unknown = 0 if is_of_another else len(set(other.ids) - set(own.ids))
        left_out.append(_why_left_out(own.states, states) + Counter({"not in the baseline": n_unknown}))
    return Joined(
        SampleScores(
            np.stack(statistics, axis=1),
            np.array(has_value, dtype=np.bool_).T,
            clusters=table["cluster"].to_numpy(),
            strata=_strata(table, metric.subset),
            combine=combiner(baseline, metric.metric) if of_a_corpus else None,
        ),
        tuple(left_out),
    )


def is_of_a_corpus(folder: Path, metric: SubsetMetric, cell: CellResult) -> bool:
    """True for a metric, such as BLEU, for which a single sample has no value."""
    import pyarrow.parquet as pq

    try:
        return f"score_statistics/{metric.metric}" in pq.read_schema(folder / cell.cell_id / "samples.parquet").names
    except OSError as error:
        raise DataError(f"{cell.cell_id}: samples.parquet cannot be read ({error})") from error


def _aligned(baseline: _Scored, cell: _Scored) -> NDArray[np.float64]:
    """The cell's statistics for the baseline's samples; zeros for samples that it does not have."""
    place = {sample_id: row for row, sample_id in enumerate(cell.ids)}
    statistics = np.zeros((len(baseline.ids), cell.statistics.shape[1]))
    for row, sample_id in enumerate(baseline.ids):
        if sample_id in place:
            statistics[row] = cell.statistics[place[sample_id]]
    return statistics


def _states(baseline: _Scored, cell: _Scored) -> list[str]:
    """For each of the baseline's samples, its state in the cell, or why the cell does not have the same sample."""
    place = {sample_id: row for row, sample_id in enumerate(cell.ids)}
    states = []
    for sample_id, question in zip(baseline.ids, baseline.questions, strict=True):
        row = place.get(sample_id)
        if row is None:
            states.append("not in this cell")
        elif cell.questions[row] != question:
            states.append("with another question")
        else:
            states.append(cell.states[row])
    return states


def _why_left_out(baseline: Sequence[str], cell: Sequence[str]) -> Counter[str]:
    """Counts each sample that is not compared once, by the cell's state or otherwise by the baseline's."""
    return Counter(
        own if own != ScoreState.VALUE else f"{other} in the baseline"
        for own, other in zip(cell, baseline, strict=True)
        if {own, other} != {ScoreState.VALUE}
    )


def _read(folder: Path, cell: CellResult, metric: SubsetMetric, of_a_corpus: bool, more: Sequence[str] = ()) -> Any:
    """Rows of the subset, with what the metric made of them. Raises DataError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / cell.cell_id / "samples.parquet"
    wanted = [_column(metric, of_a_corpus), f"score_state/{metric.metric}"]
    try:
        columns = pq.read_schema(path).names
        if missing := [column for column in (*wanted, *more) if column not in columns]:
            raise DataError(f"{path}: has no column {missing[0]!r}; was it written by another version?")
        names = ["id", "question", "subset", "topic", "task", *wanted, *more]
        # By this thread alone: a process that ends while one of pq.read_table's threads still runs is aborted.
        with pq.ParquetFile(path, pre_buffer=False) as file:
            table = file.read(names, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read ({error}); wanted the samples of a finished cell") from error
    return table.filter(pa.array(_in_subset(table, metric.subset)))


def _column(metric: SubsetMetric, of_a_corpus: bool) -> str:
    return f"score_statistics/{metric.metric}" if of_a_corpus else f"score/{metric.metric}"


def _in_subset(table: Any, subset: str) -> list[bool]:
    """Whether each sample counts in the subset; in "macro" all do."""
    groups = zip(*(table[name].to_pylist() for name in ("subset", "topic", "task")), strict=True)
    return [subset == MACRO or subset in subsets_of(*group) for group in groups]


def _strata(table: Any, subset: str) -> NDArray[np.int64]:
    """The subset of each sample in the macro mean; for other means all samples are in one."""
    if subset != MACRO:
        return np.zeros(len(table), dtype=np.int64)
    _, strata = np.unique(table["subset"].to_pylist(), return_inverse=True)
    return strata.astype(np.int64)


def _scored(table: Any, metric: SubsetMetric, cell: CellResult, of_a_corpus: bool) -> _Scored:
    ids = table["id"].to_pylist()
    if len(set(ids)) < len(ids):
        raise DataError(f"{cell.cell_id}: ids of samples occur twice in samples.parquet, wanted unique ones")
    column = table[_column(metric, of_a_corpus)].to_pylist()
    rows = column if of_a_corpus else [[0.0 if value is None else value] for value in column]
    statistics = np.array(rows, dtype=np.float64).reshape(len(ids), -1 if ids else 1)
    states = table[f"score_state/{metric.metric}"].to_pylist()
    return _Scored(ids, table["question"].to_pylist(), statistics, states)
