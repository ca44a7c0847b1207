"""Checks the contexts of a builder before they are stored. A wrong chunk would be read and scored."""

import numpy as np
from numpy.typing import NDArray

from components.records import Context, Hits, Spans
from runner.engine.broken_contracts import contract_error


def validate_context(context: Context, hits: Hits, spans: Spans, top_k: int, builder: object) -> Context:
    """Return `context` if each of its chunks is among the first `top_k` hits of its query, or near one of them.

    The builder's `n_chunks_per_hit` limits the distance. Otherwise raises ComponentError, which names the builder's
    class.
    """
    if problem := _problem(context, hits, spans, top_k, int(getattr(builder, "n_chunks_per_hit", 1))):
        raise contract_error(builder, problem)
    return context


def _problem(context: object, hits: Hits, spans: Spans, top_k: int, n_chunks_per_hit: int) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if not isinstance(context, Context):
        return f"returned {type(context).__name__}, expected Context"
    chunk, n_queries = context.chunk, len(hits)
    if not _has_integers(chunk, 2) or len(chunk) != n_queries:
        return f"returned {_describe(chunk)} as chunks, expected integers of two dimensions with {n_queries} rows"
    for name, counts in (("n_tokens", context.n_tokens), ("n_tokens_dropped", context.n_tokens_dropped)):
        if not _has_integers(counts, 1) or len(counts) != n_queries or (counts < 0).any():
            return f"returned {_describe(counts)} as {name}, expected {n_queries} integers of at least 0"
    for row, column in np.argwhere((chunk < -1) | (chunk >= len(spans)))[:1]:
        return f"query {row} has the chunk {chunk[row, column]}, expected 0 to {len(spans) - 1}, or -1 for none"
    for row, column in np.argwhere((chunk[:, :-1] < 0) & (chunk[:, 1:] >= 0))[:1]:
        return f"query {row} has no chunk in column {column} but one after it, expected -1 only at the end"
    ordered = np.sort(chunk, axis=1)
    for row, column in np.argwhere((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0))[:1]:
        return f"query {row} has the chunk {ordered[row, column]} twice, expected each once"
    for row, column in np.argwhere(_is_far(chunk, hits.chunk[:, :top_k], spans, n_chunks_per_hit))[:1]:
        around = (
            f", nor around one in its document (n_chunks_per_hit={n_chunks_per_hit})" if n_chunks_per_hit > 1 else ""
        )
        return f"query {row} has the chunk {chunk[row, column]}, which is not among its first {top_k} hits{around}"
    return ""


def _is_far(
    chunk: NDArray[np.integer], best: NDArray[np.integer], spans: Spans, n_chunks_per_hit: int
) -> NDArray[np.bool_]:
    """Mark the chunks that are farther from every hit of their row than a passage reaches.

    Rows are laid end to end on one number line, with larger gaps than that reach, so that one sorted search serves all
    rows.
    """
    base = np.arange(len(chunk), dtype=np.int64)[:, None] * (len(spans) + n_chunks_per_hit)
    nowhere = -1 - n_chunks_per_hit
    places = np.sort(np.append((base + best)[best >= 0], nowhere))
    positions = base + chunk
    after = np.searchsorted(places, positions)
    is_near = np.zeros(chunk.shape, dtype=bool)
    for side in (np.maximum(after - 1, 0), np.minimum(after, len(places) - 1)):
        distance = np.abs(places[side] - positions)
        is_close = (distance < n_chunks_per_hit) & (chunk >= 0)
        nearest = np.where(is_close, chunk + places[side] - positions, chunk)[is_close]
        is_near[is_close] |= spans.document[nearest] == spans.document[chunk[is_close]]
    return (chunk >= 0) & ~is_near


def _has_integers(array: object, n_dimensions: int) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == n_dimensions and array.dtype.kind in "iu"


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__
