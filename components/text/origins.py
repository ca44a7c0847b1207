"""Mapping of characters between refined texts and the texts that they were made from."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from components.records import ChunkOrigins, Origins, Spans

Ints = NDArray[np.int64]

_NO_ROW = np.zeros(0, dtype=np.int32)
_NONE = Origins(_NO_ROW, _NO_ROW, _NO_ROW, _NO_ROW, _NO_ROW, _NO_ROW.astype(bool))


def identity_origins(chunks: Spans) -> ChunkOrigins:
    """Return the origins of chunks of unrefined texts: each chunk is its own origin."""
    return ChunkOrigins(chunks.document, chunks.start, chunks.end, chunk=np.arange(len(chunks), dtype=np.int32))


def trace_origins(places: ChunkOrigins, origins: Origins) -> ChunkOrigins:
    """Return the origins of places in refined texts, one refinement further back.

    Rows of a chunk keep their order. A chunk that consists only of added text gets one row without characters.
    """
    row, piece = _overlaps(places, origins)
    is_copy = origins.is_copy[piece]
    shift = origins.original_start[piece] - origins.start[piece]
    start = np.maximum(places.start[row], origins.start[piece]) + shift
    end = np.minimum(places.end[row], origins.end[piece]) + shift
    chunk = places.chunk[row]
    added = np.setdiff1d(places.chunk, chunk)  # every chunk has a row, so these are sorted and distinct
    document_of = dict(zip(places.chunk.tolist(), places.document.tolist(), strict=True))
    nowhere = np.zeros(len(added), dtype=np.int64)
    all_chunks = np.concatenate([chunk, added])
    order = np.argsort(all_chunks, kind="stable")
    columns = (
        np.concatenate([places.document[row], [document_of[number] for number in added.tolist()]]),
        np.concatenate([np.where(is_copy, start, origins.original_start[piece]), nowhere]),
        np.concatenate([np.where(is_copy, end, origins.original_end[piece]), nowhere]),
        all_chunks,
    )
    document, start, end, chunk = (column[order].astype(np.int32) for column in columns)
    return ChunkOrigins(document, start, end, chunk=chunk)


def join_origins(parts: Sequence[Origins], n_documents: Sequence[int]) -> Origins:
    """Return the origins of consecutive corpora with these numbers of documents."""
    first = np.cumsum([0, *n_documents])
    shifted = [replace(part, document=part.document + np.int32(n)) for part, n in zip(parts, first, strict=False)]
    columns = [
        np.concatenate([getattr(_NONE, f.name), *(getattr(p, f.name) for p in shifted)]) for f in fields(Origins)
    ]
    return Origins(*columns)


def find_refined_spans(document: int, start: int, end: int, origins: Origins) -> list[tuple[int, int]]:
    """Return the ranges of a refined text that contain some of the characters [start, end) of its previous text."""
    first, last = np.searchsorted(origins.document, [document, document + 1])
    ranges = []
    for piece in range(int(first), int(last)):
        own_start, own_end = int(origins.original_start[piece]), int(origins.original_end[piece])
        if own_start < end and start < own_end:
            refined_start, refined_end = int(origins.start[piece]), int(origins.end[piece])
            if origins.is_copy[piece]:
                shift = refined_start - own_start
                refined_start, refined_end = max(start, own_start) + shift, min(end, own_end) + shift
            ranges.append((refined_start, refined_end))
    return ranges


def _overlaps(places: Spans, origins: Origins) -> tuple[Ints, Ints]:
    """Return all pairs of a span and a piece that share characters: int64 rows of both, by span, then by piece."""
    # All documents are laid end to end on one number line, so that a single sorted search serves all places.
    longest = int(max(places.end.max(initial=0), origins.end.max(initial=0))) + 1
    base = origins.document.astype(np.int64) * longest
    own_base = places.document.astype(np.int64) * longest
    first = np.searchsorted(base + origins.end, own_base + places.start, side="right")
    last = np.searchsorted(base + origins.start, own_base + places.end, side="left")
    n_pieces = np.maximum(last - first, 0)
    row = np.repeat(np.arange(len(places)), n_pieces)
    within = np.arange(len(row)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    return row, first[row] + within
