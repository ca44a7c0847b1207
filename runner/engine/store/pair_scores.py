"""Scores of (query, chunk) pairs, stored so that no pair is scored twice: another depth scores only new pairs.

A folder of blocks, each a table of query texts, chunk positions and scores. A block never changes.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from runner.engine.store.remote import NO_MIRROR, Mirror
from runner.engine.store.stored_blocks import read_blocks, write_block

_BLOCK = "scores"


class PairScores:
    """All scores of one reranker for one set of chunks."""

    def __init__(self, folder: Path, mirror: Mirror = NO_MIRROR) -> None:
        """The first block creates the folder."""
        self._folder = folder
        self._mirror = mirror

    def look_up(self, queries: Sequence[str], pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[n_pairs] for int32[n_pairs, 2] of (query, chunk) positions. NaN for a pair without a score."""
        scores = np.full(len(pairs), np.nan, dtype=np.float32)
        if not len(pairs):
            return scores
        self._mirror.download()
        query_numbers = {text: number for number, text in enumerate(queries)}
        # Equal texts are one query: the last position stands for all of them.
        same = np.array([query_numbers[text] for text in queries], dtype=np.int64)
        numbers = _numbers(np.stack([same[pairs[:, 0]], pairs[:, 1]], axis=1))
        order = np.argsort(numbers, kind="stable")
        for block in read_blocks(self._folder, _BLOCK):
            stored, values = _numbers_and_scores(block, query_numbers)
            if not len(stored):
                continue
            positions = np.searchsorted(stored, numbers[order])
            hit = (positions < len(stored)) & (stored[np.minimum(positions, len(stored) - 1)] == numbers[order])
            scores[order[hit]] = values[positions[hit]]
        return scores

    def add(self, queries: Sequence[str], pairs: NDArray[np.int32], scores: NDArray[np.float32]) -> None:
        """Store the scores of pairs. `pairs` is int32[n_pairs, 2] of (query, chunk) positions."""
        if not len(pairs):
            return
        used, query = np.unique(pairs[:, 0], return_inverse=True)
        table = pa.table(
            {
                "query": pa.DictionaryArray.from_arrays(
                    pa.array(query.astype(np.int32)), pa.array([queries[i] for i in used], pa.string())
                ),
                "chunk": pa.array(pairs[:, 1], pa.int32()),
                "score": pa.array(scores, pa.float32()),
            }
        )
        write_block(self._folder, _BLOCK, table)
        self._mirror.send()


def _numbers(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return one number per (query, chunk)."""
    return pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1].astype(np.int64)


def _numbers_and_scores(
    table: pa.Table, query_numbers: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the sorted pair numbers and scores of a block, for the queries in `query_numbers`."""
    column = table["query"].combine_chunks()
    column = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    places = np.array([query_numbers.get(text, -1) for text in column.dictionary.to_pylist()], dtype=np.int64)
    query = places[column.indices.to_numpy()]
    is_known = query >= 0
    numbers = _numbers(np.stack([query[is_known], table["chunk"].to_numpy()[is_known]], axis=1))
    order = np.argsort(numbers)
    return numbers[order], table["score"].to_numpy()[is_known][order]
