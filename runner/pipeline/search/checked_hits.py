"""Checks the hits of a component before they are stored. A chunk that occurs twice would count twice."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Hits
from runner.engine.broken_contracts import broken_contract


def checked_hits(hits: Hits, n_queries: int, n_chunks: int, component: object) -> Hits:
    """Return `hits` if they are valid rankings of `n_queries` queries over `n_chunks` chunks: see the protocols.

    Raises ComponentError, which names the class of the component.
    """
    if mistake := _mistake(hits, n_queries, n_chunks):
        raise broken_contract(component, mistake)
    return hits


def n_chunks_in(rankings: Sequence[Hits]) -> int:
    """Return one more than the largest position in the rankings; 0 without a hit."""
    return max((int(hits.chunk.max(initial=-1)) for hits in rankings), default=-1) + 1


def _mistake(hits: object, n_queries: int, n_chunks: int) -> str:
    """Describe a contract violation; "" without one."""
    if not isinstance(hits, Hits):
        return f"returned {type(hits).__name__}, expected Hits"
    chunk, score = hits.chunk, hits.score
    if not (_is_table(chunk, "iu") and _is_table(score, "f")):
        return "returned Hits with other columns than integers and floats of two dimensions"
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


def _is_table(array: NDArray[np.generic], kinds: str) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype.kind in kinds
