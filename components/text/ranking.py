"""Conversion of scores to rankings whose ties break by position, that is, by id."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Hits


def empty_hits(n_queries: int, depth: int) -> Hits:
    """Return rankings without hits: all entries are padding."""
    return Hits(np.full((n_queries, depth), -1, dtype=np.int32), np.full((n_queries, depth), -np.inf, dtype=np.float32))


def sort_hits(chunk: NDArray[np.int32], score: NDArray[np.float32], depth: int) -> Hits:
    """Sort each row by (score descending, position ascending) and keep `depth` columns, padded if there are fewer.

    Entries with chunk -1 come last.
    """
    score = np.where(chunk < 0, -np.inf, score).astype(np.float32)
    position = np.where(chunk < 0, np.iinfo(np.int32).max, chunk)
    order = np.lexsort((position, -score), axis=1)[:, :depth]
    hits = empty_hits(len(chunk), depth)
    hits.chunk[:, : order.shape[1]] = np.take_along_axis(chunk, order, axis=1)
    hits.score[:, : order.shape[1]] = np.take_along_axis(score, order, axis=1)
    return hits


def select_best(score: NDArray[np.float32], depth: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return (positions, scores) of the `depth` best positive entries of one dense row of scores; ties by position."""
    positive = np.flatnonzero(score > 0)
    if len(positive) > depth:  # narrow down first: sorting all of a large corpus per query would dominate the search
        threshold = np.partition(score[positive], len(positive) - depth)[len(positive) - depth]
        positive = positive[score[positive] >= threshold]
    order = np.lexsort((positive, -score[positive]))[:depth]
    chosen = positive[order].astype(np.int32)
    return chosen, score[chosen]


def best_columns(score: NDArray[np.floating], depth: int) -> Hits:
    """Return the `depth` best entries above -inf of each row of a table of scores, ties by position.

    Rows have length `depth`, or the number of columns if that is smaller.
    """
    n_rows, n_columns = score.shape
    depth = min(depth, n_columns)
    score = score.astype(np.float32)
    hits = empty_hits(n_rows, depth)
    if not depth or not n_rows:
        return hits
    # Narrow down first: sorting whole rows of a large corpus would dominate the search.
    threshold = np.partition(score, n_columns - depth, axis=1)[:, n_columns - depth, None]
    row, column = np.nonzero((score >= threshold) & (score > -np.inf))
    order = np.lexsort((column, -score[row, column], row))
    row, column = row[order], column[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    row, column, rank = (part[rank < depth] for part in (row, column, rank))
    hits.chunk[row, rank], hits.score[row, rank] = column, score[row, column]
    return hits


def merge_best(one: Hits, other: Hits) -> Hits:
    """Return the best hits of two searches for the same queries in different chunks, as wide as `one`."""
    chunk = np.concatenate([one.chunk, other.chunk], axis=1)
    return sort_hits(chunk, np.concatenate([one.score, other.score], axis=1), one.chunk.shape[1])


def hits_in_order(chunks: Sequence[Sequence[int]]) -> Hits:
    """Return rankings of chunks chosen without a score, as wide as the longest. Scores are reciprocal ranks."""
    hits = empty_hits(len(chunks), max(map(len, chunks), default=0))
    for row, row_chunks in enumerate(chunks):
        hits.chunk[row, : len(row_chunks)] = row_chunks
        hits.score[row, : len(row_chunks)] = 1 / np.arange(1, len(row_chunks) + 1)
    return hits


def scaled_scores(hits: Hits) -> NDArray[np.float64]:
    """Return scores between 0, for a query's last hit, and 1, for its best one (min-max normalization).

    The result has the shape of the hits. It is 1 for all hits if they have equal scores, and 0 where there is no hit.
    """
    is_hit = hits.chunk >= 0
    score = hits.score.astype(np.float64)
    best = np.where(is_hit, score, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    worst = np.where(is_hit, score, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    # If all hits score the same, a width of 1 and a floor 1 below them map all to 1.
    width = np.where(best > worst, best - worst, 1)
    floor = np.where(best > worst, worst, best - 1)
    return np.where(is_hit, (np.where(is_hit, score, 0) - np.where(np.isfinite(floor), floor, 0)) / width, 0)


def prepend_hits(head: Hits, tail: NDArray[np.int32]) -> Hits:
    """Return reranked hits followed by the chunks `tail`, int32[n_queries, n], which get lower, decreasing scores."""
    lowest = np.where(head.chunk >= 0, head.score, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    behind = np.where(tail >= 0, np.where(np.isfinite(lowest), lowest, 0) - 1 - np.arange(tail.shape[1]), -np.inf)
    scores = np.concatenate([head.score, behind], axis=1)
    return Hits(np.concatenate([head.chunk, tail], axis=1), scores.astype(np.float32))


def drop_hits(hits: Hits, dropped: NDArray[np.bool_]) -> Hits:
    """Return the other hits in their order, with their scores. Rows keep their width."""
    gone = dropped | (hits.chunk < 0)
    order = np.argsort(gone, axis=1, kind="stable")
    chunk, score = np.where(gone, -1, hits.chunk).astype(np.int32), np.where(gone, -np.inf, hits.score)
    return Hits(np.take_along_axis(chunk, order, axis=1), np.take_along_axis(score, order, axis=1).astype(np.float32))
