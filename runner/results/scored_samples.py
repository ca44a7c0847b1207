"""Samples of one cell with their values of a metric, read from its `samples.parquet`."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.errors import DataError
from components.json_value import Json
from components.records import ScoreState
from components.subsets import BY_CONVERSATION, MACRO, OVERALL, TURN, conversation_turns, list_subsets
from runner.results.cell_result import CellResult
from runner.results.samples_file import open_samples, read_column_names, read_columns

if TYPE_CHECKING:
    import pyarrow as pa


class SampleKey(NamedTuple):
    """Identity of a sample.

    `labels` is a hash of its kind, history, references and gold documents, and `spans` one of its places of gold in
    these documents. They are "" if they were not read.
    """

    dataset: str
    id: str
    question: str
    labels: str = ""
    spans: str = ""


class Labels(Enum):
    """Labels that tell samples apart, besides id and question."""

    NONE = "none"
    DOCUMENTS = "documents"
    """Kind, history, references and gold documents. Another parser moves spans, so that they cannot be compared between
    corpora.
    """
    SPANS = "spans"
    """All of the above, and the characters of the documents that are gold."""


_ROUNDING = 1e-6
"""Tolerance for means that were summed in another order."""

_LABELS = ["kind", "history", "references", "answer_parts", "answerable", "gold"]
_IDENTITY = ["id", "question", "subset", "topic", "task"]


@dataclass(frozen=True)
class ScoredSamples:
    """Samples of one cell, all of them or a subset.

    `rows` maps a key to its row in all other fields, in the order of the file. `statistics` float64[n, d] are what the
    metric is computed from. `states` say which samples have a value. `clusters` int64[n] are groups of dependent
    samples. `groups` are (subset, topic, task). `asked` are the questions of each sample's conversation so far, empty
    if they were not read.
    """

    rows: dict[SampleKey, int]
    statistics: NDArray[np.float64]
    states: Sequence[str]
    clusters: NDArray[np.int64]
    groups: Sequence[tuple[str, str | None, str | None]]
    asked: Sequence[Sequence[str]]

    def find_valued(self) -> set[SampleKey]:
        """Return the samples for which the metric has a value."""
        return {key for key, row in self.rows.items() if self.states[row] == ScoreState.VALUE}

    def in_subset(self, subset: str) -> "ScoredSamples":
        """Return the samples of a subset; all samples for "macro" and "overall"."""
        if subset in (MACRO, OVERALL):
            return self
        rows = self._by_turn(subset) if is_turn_subset(subset) else self._by_subset.get(subset, [])
        keys = self._keys
        return ScoredSamples(
            {keys[row]: row for row in rows},
            self.statistics,
            self.states,
            self.clusters,
            self.groups,
            self.asked,
        )

    @cached_property
    def _keys(self) -> list[SampleKey]:
        return list(self.rows)

    @cached_property
    def _by_subset(self) -> dict[str, list[int]]:
        by_subset: dict[str, list[int]] = {}
        names = {group: list_subsets(*group) for group in set(self.groups)}
        for row, group in enumerate(self.groups):
            for name in names[group]:
                by_subset.setdefault(name, []).append(row)
        return by_subset

    def _by_turn(self, subset: str) -> list[int]:
        turns = enumerate(conversation_turns(self.asked))
        return [row for row, turn in turns if turn is not None and subset in (f"{TURN}/{turn.number}", BY_CONVERSATION)]

    def strata(self, subset: str, rows: Sequence[int]) -> NDArray[np.int64]:
        """Return the stratum of each of these samples: int64[n_rows].

        Strata are subsets in the macro mean and conversations in the mean over conversations. For other means all
        samples are in one stratum.
        """
        if subset == BY_CONVERSATION:
            names = [self.asked[row][0] for row in rows]
        elif subset == MACRO:
            names = [self.groups[row][0] for row in rows]
        else:
            return np.zeros(len(rows), dtype=np.int64)
        _, strata = np.unique(names, return_inverse=True)
        return strata.astype(np.int64)


def is_turn_subset(subset: str) -> bool:
    """Return True if the subset depends on turns of conversations, so that histories have to be read."""
    return subset.partition("/")[0] == TURN


def read_scored(
    cell: CellResult, folder: Path, metric: str, *, is_corpus: bool, with_history: bool, labels: Labels = Labels.NONE
) -> ScoredSamples:
    """Read all samples of the cell. Raises DataError if the file cannot be read or lacks the metric.

    Samples whose `labels` differ are different samples: after a correction of the data set, their scores measure
    something else.
    """
    column = f"score_statistics/{metric}" if is_corpus else f"score/{metric}"
    needed = [column, f"score_state/{metric}", "cluster"]
    optional = [*(["history"] if with_history else []), *(_LABELS if labels is not Labels.NONE else [])]
    table = _read(folder, needed, optional)
    ids = table["id"].to_pylist()
    if len(set(ids)) < len(ids):
        raise DataError(f"{cell.cell_id}: ids of samples occur twice in samples.parquet, expected unique ones")
    name = str(cell.dataset.get("name"))
    questions = table["question"].to_pylist()
    there = [name for name in _LABELS if name in table.column_names]
    rows = table.select(there).to_pylist() if there else [{}] * len(ids)
    label_hashes = [_hash_labels(row) if row else "" for row in rows]
    span_hashes = [_hash_spans(row) if row and labels is Labels.SPANS else "" for row in rows]
    values = table[column].to_pylist()
    values = values if is_corpus else [[0.0 if value is None else value] for value in values]
    scored = ScoredSamples(
        rows={
            SampleKey(name, *parts): row
            for row, parts in enumerate(zip(ids, questions, label_hashes, span_hashes, strict=True))
        },
        statistics=np.array(values, dtype=np.float64).reshape(len(ids), -1 if ids else 1),
        states=table[f"score_state/{metric}"].to_pylist(),
        clusters=table["cluster"].to_numpy(),
        groups=list(zip(*(table[name].to_pylist() for name in ("subset", "topic", "task")), strict=True)),
        asked=_asked_questions(table["history"].to_pylist(), questions) if with_history else [],
    )
    _check_belongs(scored, cell, folder, metric, is_corpus=is_corpus)
    return scored


def _hash_labels(row: dict[str, Json]) -> str:
    units = [[unit["document_id"], unit["grade"], unit.get("one_of") or 0] for unit in row.get("gold") or ()]
    texts = [row.get("references") or [], row.get("answer_parts") or []]
    # With given passages, a sample with gold is unanswerable in the cells whose prompt lacks the gold.
    answerable = bool(units) or row.get("answerable") is not False
    return _hash([*texts, answerable, sorted(units, key=str), row.get("kind"), row.get("history")])


def _hash_spans(row: dict[str, Json]) -> str:
    units = [
        [unit["document_id"], unit["grade"], unit.get("one_of") or 0, unit["start"], unit["end"]]
        for unit in row.get("gold") or ()
    ]
    return _hash(sorted(units, key=str))


def _hash(value: list[Json]) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()[:16]


def have_data_versions(cells: Iterable[CellResult]) -> bool:
    """Return True if cells with the same data set have different documents or samples."""
    versions = {(str(cell.dataset.get("name")), str(cell.dataset.get("key"))) for cell in cells}
    return len(versions) > len({name for name, _ in versions})


def distinguishing_labels(cells: Iterable[CellResult]) -> Labels:
    """Return the labels that may differ between the cells, because they do not all have the same data."""
    cells = list(cells)
    if len({cell.dataset.get("key") for cell in cells}) < 2:
        return Labels.NONE
    corpora = {cell.dataset.get("corpus") for cell in cells}
    return Labels.SPANS if len(corpora) == 1 and None not in corpora else Labels.DOCUMENTS


def require_own_samples(cell: CellResult, folder: Path) -> None:
    """Raise DataError unless the samples in the folder have the numbers of `cell.json`, which other readers of samples
    do not compare.
    """
    columns = read_column_names(folder)
    for name, entry in cell.metrics.get(OVERALL, {}).items():
        if entry.get("n"):
            is_corpus = f"score_statistics/{name}" in columns
            read_scored(cell, folder, name, is_corpus=is_corpus, with_history=False)


def _check_belongs(scored: ScoredSamples, cell: CellResult, folder: Path, metric: str, *, is_corpus: bool) -> None:
    """Raise DataError unless these samples match the value and the count in `cell.json`.

    After files were copied, they may belong to another cell. Metrics of a corpus and custom metrics may not be means,
    so that only their number of values is compared.
    """
    recorded = cell.metrics.get(OVERALL, {}).get(metric, {})
    is_valued = np.array([state == ScoreState.VALUE for state in scored.states], dtype=np.bool_)
    n = int(is_valued.sum())
    differ = "n" in recorded and recorded["n"] != n
    is_mean = not is_corpus and metric not in cell.own_metrics
    if not differ and n and is_mean and recorded.get("value") is not None:
        mean = float(scored.statistics[is_valued, 0].mean())
        differ = not np.isclose(mean, recorded["value"], rtol=_ROUNDING, atol=_ROUNDING)
    if differ:
        raise DataError(
            f"{folder / 'samples.parquet'}: its {metric} differs from cell.json beside it (n = "
            f"{recorded.get('n')}, {recorded.get('value')}), expected the samples of this cell. Run the sweep's "
            "command again: finished work is cached."
        )


def _read(folder: Path, needed: Sequence[str], optional: Sequence[str]) -> "pa.Table":
    with open_samples(folder) as file:
        columns = file.schema_arrow.names
        required = [*_IDENTITY, *needed]
        if missing := [column for column in required if column not in columns]:
            path = folder / "samples.parquet"
            raise DataError(
                f"{path}: has no column {missing[0]!r}, as another version wrote it. Run the sweep's command "
                "again: finished work is cached."
            )
        there = [name for name in optional if name in columns]
        return read_columns(file, list(dict.fromkeys([*required, *there])))


def _asked_questions(histories: Sequence[str], questions: Sequence[str]) -> list[list[str]]:
    """Return the questions of each sample's conversation so far."""
    rows = zip(histories, questions, strict=True)
    return [[*(turn["question"] for turn in json.loads(history)), question] for history, question in rows]
