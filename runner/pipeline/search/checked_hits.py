"""Checks the hits of a component and the documents that a filter allows, before they are stored.

A chunk that occurs twice would count twice, and a wrong position would hide other documents.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import AllowedDocuments, Hits
from runner.engine.broken_contracts import contract_error


def validate_hits(hits: Hits, n_queries: int, n_chunks: int, component: object, *, by_score: bool = True) -> Hits:
    """Return `hits` if they are valid rankings of `n_queries` queries over `n_chunks` chunks: see the protocols.

    With `by_score`, no hit may have a higher score than the one before it. Raises ComponentError, which names the
    component's class, if they are invalid.
    """
    if problem := _problem(hits, n_queries, n_chunks) or (_order_problem(hits) if by_score else ""):
        raise contract_error(component, problem)
    return hits


def min_chunk_count(rankings: Sequence[Hits]) -> int:
    """Return one more than the largest position in the rankings, or 0 if they have no hits."""
    return max((int(hits.chunk.max(initial=-1)) for hits in rankings), default=-1) + 1


def _problem(hits: object, n_queries: int, n_chunks: int) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if not isinstance(hits, Hits):
        return f"returned {type(hits).__name__}, expected Hits"
    chunk, score = hits.chunk, hits.score
    if not (_is_table(chunk, "iu") and _is_table(score, "f")):
        return "returned Hits whose columns are not two-dimensional arrays, integers for chunk and floats for score"
    if chunk.shape != score.shape or len(chunk) != n_queries:
        return f"returned chunks {chunk.shape} and scores {score.shape}, expected equal shapes of {n_queries} rows"
    for row, column in np.argwhere((chunk < -1) | (chunk >= n_chunks))[:1]:
        return f"query {row} has the chunk {chunk[row, column]}, expected 0 to {n_chunks - 1}, or -1 for no hit"
    for row, column in np.argwhere((chunk >= 0) & ~np.isfinite(score))[:1]:
        return f"query {row} has the score {score[row, column]} for chunk {chunk[row, column]}, expected a finite one"
    for row, column in np.argwhere((chunk[:, :-1] < 0) & (chunk[:, 1:] >= 0))[:1]:
        return f"query {row} has no hit at rank {column + 1} but one after it, expected -1 only at the end"
    ordered = np.sort(chunk, axis=1)
    for row, column in np.argwhere((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0))[:1]:
        return f"query {row} has the chunk {ordered[row, column]} twice, expected each once"
    return ""


def _order_problem(hits: Hits) -> str:
    """Describe the first hit with a higher score than the one before it, or return "" if the hits are sorted."""
    chunk, score = hits.chunk, hits.score
    for row, column in np.argwhere((chunk[:, 1:] >= 0) & (score[:, 1:] > score[:, :-1]))[:1]:
        return (
            f"query {row} has the score {score[row, column + 1]} after {score[row, column]}, expected the best hit "
            "first and a higher score for a better hit"
        )
    return ""


def _is_table(array: NDArray[np.generic], kinds: str) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype.kind in kinds


def validate_allowed(allowed: AllowedDocuments, n_samples: int, n_documents: int, a_filter: object) -> AllowedDocuments:
    """Return `allowed` if it lists valid documents for each sample.

    Otherwise raises ComponentError, which names the filter's class.
    """
    if problem := _allowed_problem(allowed, n_samples, n_documents):
        raise contract_error(a_filter, problem)
    return allowed


def _allowed_problem(allowed: object, n_samples: int, n_documents: int) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if not isinstance(allowed, AllowedDocuments):
        return f"returned {type(allowed).__name__}, expected AllowedDocuments"
    group, offsets, document = allowed.group, allowed.offsets, allowed.document
    if not all(
        isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iu"
        for column in vars(allowed).values()
    ):
        return "returned AllowedDocuments whose columns are not one-dimensional integer arrays"
    if len(group) != n_samples:
        return f"returned groups of {len(group)} samples, expected one for each of {n_samples}"
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(document) or (np.diff(offsets) < 0).any():
        return f"returned offsets that do not increase from 0 to {len(document)}, the number of documents of all groups"
    for row in np.flatnonzero((group < 0) | (group >= len(offsets) - 1))[:1]:
        return f"sample {row} has the group {group[row]}, expected 0 to {len(offsets) - 2}"
    for row in np.flatnonzero((document < 0) | (document >= n_documents))[:1]:
        return f"allows the document {document[row]}, expected 0 to {n_documents - 1}"
    is_first = np.isin(np.arange(1, len(document)), offsets)
    for row in np.flatnonzero((document[1:] <= document[:-1]) & ~is_first)[:1]:
        return f"allows document {document[row + 1]} after {document[row]}, expected each once and ascending in a group"
    return ""
