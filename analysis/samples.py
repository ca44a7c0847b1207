"""Scores per sample of several cells, joined by the samples' ids."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.sweeps import MACRO, OVERALL, SubsetMetric
from components.errors import DataError
from components.records import ScoreState
from runner.results import CellResult


@dataclass(frozen=True)
class Joined:
    """A metric of several cells on a baseline's samples.

    `baseline` float64[n_samples] and `values` float64[n_samples, n_cells] are NaN where there is no value. `clusters`
    int64[n_samples] are ids of groups of samples that share their source document. `left_out` says per cell, for every
    sample that one of the two has no value for, why: each is counted once.
    """

    baseline: NDArray[np.float64]
    values: NDArray[np.float64]
    clusters: NDArray[np.int64]
    left_out: tuple[Counter[str], ...]


@dataclass(frozen=True)
class JoinedStatistics:
    """A metric of a corpus, of a baseline and another cell on the samples that count in both.

    `baseline` and `cell` float64[n_samples, d] are what the metric is made of; `clusters` and `left_out` are as in
    `Joined`.
    """

    baseline: NDArray[np.float64]
    cell: NDArray[np.float64]
    clusters: NDArray[np.int64]
    left_out: Counter[str]


@dataclass(frozen=True)
class _Scored:
    """A metric of one cell over a subset."""

    ids: list[str]
    values: NDArray[np.float64]
    states: list[str]


def join(folder: Path, metric: SubsetMetric, baseline: CellResult, cells: Sequence[CellResult]) -> Joined:
    """Reads the samples of the cells of the sweep in `folder`.

    Cells of another data set have no sample in common with the baseline, whatever the ids. Raises DataError if the
    metric has no values per sample, or a file cannot be read.
    """
    table = _read(folder, baseline, metric, ["gold"])
    own = _scored(table, metric, baseline)
    columns, left_out = [], []
    for cell in cells:
        scored = _scored(_read(folder, cell, metric), metric, cell)
        is_comparable = cell.dataset.get("name") == baseline.dataset.get("name")
        values, counts = _aligned(own, scored) if is_comparable else _strangers(own)
        columns.append(values)
        left_out.append(counts)
    values = np.column_stack(columns) if columns else np.zeros((len(own.ids), 0))
    return Joined(own.values, values, _clusters(own.ids, table["gold"]), tuple(left_out))


def join_statistics(
    folder: Path, metric: SubsetMetric, baseline: CellResult, cells: Sequence[CellResult]
) -> list[JoinedStatistics]:
    """For a metric of a corpus, one for each of the cells. Raises DataError as `join`."""
    statistics = f"score_statistics/{metric.metric}"
    table = _read(folder, baseline, metric, [statistics, "gold"])
    own, clusters = _scored(table, metric, baseline), _clusters(table["id"].to_pylist(), table["gold"])
    row_of = {sample_id: row for row, sample_id in enumerate(own.ids)}
    joined = []
    for cell in cells:
        other = _read(folder, cell, metric, [statistics])
        scored = replace(_scored(other, metric, cell), values=np.zeros(len(other)))
        is_comparable = cell.dataset.get("name") == baseline.dataset.get("name")
        values, left_out = _aligned(own, scored) if is_comparable else _strangers(own)
        counting = ~np.isnan(values)
        place = {sample_id: row for row, sample_id in enumerate(scored.ids)}
        rows = [place[sample_id] for sample_id in row_of if counting[row_of[sample_id]]]
        joined.append(
            JoinedStatistics(
                _matrix(table, statistics)[counting], _matrix(other, statistics)[rows], clusters[counting], left_out
            )
        )
    return joined


def is_of_a_corpus(folder: Path, metric: SubsetMetric, cell: CellResult) -> bool:
    """True for a metric, such as BLEU, that single samples have no value of."""
    import pyarrow.parquet as pq

    try:
        return f"score_statistics/{metric.metric}" in pq.read_schema(folder / cell.cell_id / "samples.parquet").names
    except OSError as error:
        raise DataError(f"{cell.cell_id}: samples.parquet cannot be read ({error})") from error


def _matrix(table: Any, column: str) -> NDArray[np.float64]:
    return np.array(table[column].to_pylist(), dtype=np.float64)


def _aligned(baseline: _Scored, cell: _Scored) -> tuple[NDArray[np.float64], Counter[str]]:
    """The cell's values in the baseline's order, and why samples are left out."""
    row = {sample_id: i for i, sample_id in enumerate(cell.ids)}
    values = np.full(len(baseline.ids), np.nan)
    left_out: Counter[str] = Counter()
    for place, (sample_id, state) in enumerate(zip(baseline.ids, baseline.states, strict=True)):
        if sample_id not in row:
            left_out["not in this cell"] += 1
        elif cell.states[row[sample_id]] != ScoreState.VALUE:
            left_out[cell.states[row[sample_id]]] += 1
        elif state != ScoreState.VALUE:
            left_out[f"{state} in the baseline"] += 1
        else:
            values[place] = cell.values[row[sample_id]]
    n_unknown = len(set(cell.ids) - set(baseline.ids))
    return values, left_out + Counter({"not in the baseline": n_unknown})


def _strangers(baseline: _Scored) -> tuple[NDArray[np.float64], Counter[str]]:
    return np.full(len(baseline.ids), np.nan), Counter({"of another data set": len(baseline.ids)})


def _read(folder: Path, cell: CellResult, metric: SubsetMetric, more: Sequence[str] = ()) -> Any:
    """Rows of the subset, with what the metric made of them. Raises DataError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / cell.cell_id / "samples.parquet"
    name = metric.metric
    scores = [f"score/{name}", f"score_state/{name}"]
    try:
        columns = pq.read_schema(path).names
        if missing := [column for column in scores if column not in columns]:
            raise DataError(f"{path}: has no column {missing[0]!r}; was it written by another version?")
        table = pq.read_table(path, columns=["id", "subset", "topic", "task", *scores, *more])
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read ({error}); wanted the samples of a finished cell") from error
    return table.filter(pa.array(_in_subset(table, metric.subset)))


def _in_subset(table: Any, subset: str) -> list[bool]:
    """Whether each sample counts in the subset, which is "overall", a path or a prefix of one, "topic/<topic>",
    "task/<task>" or "matrix/<topic>/<task>". Raises DataError for "macro".
    """
    if subset == MACRO:
        raise DataError("macro is a mean over subsets, not over samples; compare cells in overall or within one subset")
    names = zip(*(table[name].to_pylist() for name in ("subset", "topic", "task")), strict=True)
    return [
        subset in (OVERALL, f"topic/{topic}", f"task/{task}", f"matrix/{topic}/{task}")
        or f"{path}/".startswith(f"{subset}/")
        for path, topic, task in names
    ]


def _scored(table: Any, metric: SubsetMetric, cell: CellResult) -> _Scored:
    ids = table["id"].to_pylist()
    if len(set(ids)) < len(ids):
        raise DataError(f"{cell.cell_id}: ids of samples occur twice in samples.parquet, wanted unique ones")
    values = [np.nan if value is None else value for value in table[f"score/{metric.metric}"].to_pylist()]
    return _Scored(ids, np.array(values, dtype=np.float64), table[f"score_state/{metric.metric}"].to_pylist())


def _clusters(ids: Sequence[str], gold: Any) -> NDArray[np.int64]:
    """Samples whose first evidence is of the same document, as the runner groups them for its intervals."""
    sources = [
        ("document", units[0]["document_id"]) if units else ("sample", sample_id)
        for sample_id, units in zip(ids, gold.to_pylist(), strict=True)
    ]
    number = {source: i for i, source in enumerate(dict.fromkeys(sources))}
    return np.array([number[source] for source in sources], dtype=np.int64)
