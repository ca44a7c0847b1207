"""The samples of one cell with what a metric made of them, read from its `samples.parquet`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.errors import DataError
from components.records import ScoreState
from components.subsets import BY_CONVERSATION, MACRO, OVERALL, TURN, subsets_of
from components.turns import conversation_turns
from runner.results.cell_result import CellResult
from runner.results.samples_file import open_samples

Key = tuple[Any, ...]
"""What makes a sample the same one: its data set, its id and its question."""

_ROUNDING = 1e-6
"""Means may be summed up in another order."""

_IDENTITY = ["id", "question", "subset", "topic", "task"]


@dataclass(frozen=True)
class ScoredSamples:
    """Samples of one cell, those of a subset or all: `rows` by key, in the order of the file, into all other fields.

    `statistics` float64[n, d] are what the metric is made of, `states` say which samples have a value, `clusters`
    int64[n] which belong together. `groups` are (subset, topic, task), `asked` the questions of each sample's
    conversation so far, empty where these were not read.
    """

    rows: dict[Key, int]
    statistics: NDArray[np.float64]
    states: Sequence[str]
    clusters: NDArray[np.int64]
    groups: Sequence[tuple[str, str | None, str | None]]
    asked: Sequence[Sequence[str]]

    def valued(self) -> set[Key]:
        """The samples for which the metric has a value."""
        return {key for key, row in self.rows.items() if self.states[row] == ScoreState.VALUE}

    def within(self, subset: str) -> "ScoredSamples":
        """Those that count in the subset; in "macro" all do."""
        if subset in (MACRO, OVERALL):
            return self
        places = self._by_turn(subset) if is_of_turns(subset) else self._by_subset.get(subset, [])
        keys = self._keys
        return ScoredSamples(
            {keys[place]: place for place in places},
            self.statistics,
            self.states,
            self.clusters,
            self.groups,
            self.asked,
        )

    @cached_property
    def _keys(self) -> list[Key]:
        return list(self.rows)

    @cached_property
    def _by_subset(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        names = {group: subsets_of(*group) for group in set(self.groups)}
        for row, group in enumerate(self.groups):
            for name in names[group]:
                found.setdefault(name, []).append(row)
        return found

    def _by_turn(self, subset: str) -> list[int]:
        turns = enumerate(conversation_turns(self.asked))
        return [row for row, turn in turns if turn is not None and subset in (f"{TURN}/{turn.number}", BY_CONVERSATION)]

    def strata(self, subset: str, rows: Sequence[int]) -> NDArray[np.int64]:
        """The subset of each of these samples in the macro mean, or its conversation in the mean over these; for other
        means all samples are in one: int64[n_rows].
        """
        if subset == BY_CONVERSATION:
            names = [self.asked[row][0] for row in rows]
        elif subset == MACRO:
            names = [self.groups[row][0] for row in rows]
        else:
            return np.zeros(len(rows), dtype=np.int64)
        _, strata = np.unique(names, return_inverse=True)
        return strata.astype(np.int64)


def is_of_turns(subset: str) -> bool:
    """Whether the subset is told by the turns of conversations, so that these have to be read."""
    return subset.partition("/")[0] == TURN


def read_scored(cell: CellResult, folder: Path, metric: str, *, of_a_corpus: bool, with_history: bool) -> ScoredSamples:
    """All samples of the cell. Raises DataError if the file cannot be read or lacks the metric."""
    column = f"score_statistics/{metric}" if of_a_corpus else f"score/{metric}"
    table = _read(folder, [column, f"score_state/{metric}", "cluster"], with_history=with_history)
    ids = table["id"].to_pylist()
    if len(set(ids)) < len(ids):
        raise DataError(f"{cell.cell_id}: ids of samples occur twice in samples.parquet, expected unique ones")
    name = cell.dataset.get("name")
    questions = table["question"].to_pylist()
    values = table[column].to_pylist()
    values = values if of_a_corpus else [[0.0 if value is None else value] for value in values]
    found = ScoredSamples(
        rows={(name, *key): row for row, key in enumerate(zip(ids, questions, strict=True))},
        statistics=np.array(values, dtype=np.float64).reshape(len(ids), -1 if ids else 1),
        states=table[f"score_state/{metric}"].to_pylist(),
        clusters=table["cluster"].to_numpy(),
        groups=list(zip(*(table[name].to_pylist() for name in ("subset", "topic", "task")), strict=True)),
        asked=_asked(table["history"].to_pylist(), questions) if with_history else [],
    )
    _check_belongs(found, cell, folder, metric, of_a_corpus=of_a_corpus)
    return found


def _check_belongs(found: ScoredSamples, cell: CellResult, folder: Path, metric: str, *, of_a_corpus: bool) -> None:
    """Raises DataError unless these are the samples whose scores are summed up in `cell.json`: they may be those of
    another cell, after files were copied. Of metrics of a corpus, and of your own packages, only the number of values
    is compared: they may be no means.
    """
    told = cell.metrics.get(OVERALL, {}).get(metric, {})
    is_valued = np.array([state == ScoreState.VALUE for state in found.states], dtype=np.bool_)
    n = int(is_valued.sum())
    differ = "n" in told and told["n"] != n
    is_mean = not of_a_corpus and metric not in cell.own_metrics
    if not differ and n and is_mean and told.get("value") is not None:
        mean = float(found.statistics[is_valued, 0].mean())
        differ = not np.isclose(mean, told["value"], rtol=_ROUNDING, atol=_ROUNDING)
    if differ:
        raise DataError(
            f"{folder / 'samples.parquet'}: its {metric} is not that of cell.json beside it (n = {told.get('n')}, "
            f"{told.get('value')}), expected the samples of this cell; the sweep's command, given again, writes "
            "both anew"
        )


def _read(folder: Path, wanted: Sequence[str], *, with_history: bool) -> Any:
    with open_samples(folder) as file:
        columns = file.schema_arrow.names
        if missing := [column for column in wanted if column not in columns]:
            path = folder / "samples.parquet"
            raise DataError(f"{path}: has no column {missing[0]!r}; was it written by another version?")
        names = [*_IDENTITY, *(["history"] if with_history else []), *wanted]
        return file.read(names, use_threads=False)


def _asked(histories: Sequence[str], questions: Sequence[str]) -> list[list[str]]:
    """Per sample the questions of its conversation so far."""
    rows = zip(histories, questions, strict=True)
    return [[*(turn["question"] for turn in json.loads(history)), own] for history, own in rows]
