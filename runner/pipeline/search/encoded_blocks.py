"""Encodes chunks block by block, so that an interrupted run resumes, and memory holds one block."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from components.encodings import Encodings, MultiEncodings, SparseEncodings
from components.records import Passages
from runner.engine.stage_run import Run
from runner.engine.store.part_files import Part, read_part
from runner.engine.store.stored_blocks import join_blocks, read_block, write_block
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.text_passages import ChunkPassages

BLOCK_CHARACTERS = 250_000
"""Characters of the chunks in a block that is encoded at a time.

Each token may have a vector, and hardly any token is shorter than a character. So a block with 1,024 dimensions takes
at most 0.5 GB.
"""

_OFFSETS = {"weight_offsets", "vector_offsets"}

E = TypeVar("E", Encodings, SparseEncodings, MultiEncodings)


def encode_in_blocks(run: Run, chunks: ChunkPassages, kind: type[E], encode: Callable[[Passages], E]) -> E:
    """Return the encodings of all chunks, of this kind. `encode` gets a block of chunks."""
    passages, spans = chunks.read(run), run.read(chunks.chunks)
    blocks: list[E] = []
    for rows in split_into_blocks(spans.end - spans.start):
        blocks.append(_block(run, kind, passages, rows, encode))
        run.report(rows.stop, len(passages))
    if not blocks:
        return encode(passages)
    return kind(**{field.name: _join_arrays(run, field.name, blocks) for field in fields(kind)})


def _block(run: Run, kind: type[E], passages: Passages, rows: slice, encode: Callable[[Passages], E]) -> E:
    names = {field.name: f"{rows.start}-{rows.stop}-{field.name}" for field in fields(kind)}
    stored: dict[str, Part] = {field: read_block(run.workspace, name) for field, name in names.items()}
    if any(part is None for part in stored.values()):
        encodings = encode(sub_corpora.rows(passages, rows))
        # Read back from disk, to free the memory for the next block.
        stored = {
            field: read_part(write_block(run.workspace, name, getattr(encodings, field)))
            for field, name in names.items()
        }
    return kind(**stored)


def split_into_blocks(lengths: NDArray[np.int32]) -> Iterator[slice]:
    """Yield consecutive rows with at most `BLOCK_CHARACTERS` characters together, or a single longer row."""
    ends = np.cumsum(lengths, dtype=np.int64)
    first = 0
    while first < len(ends):
        limit = (ends[first - 1] if first else 0) + BLOCK_CHARACTERS
        last = max(first + 1, int(np.searchsorted(ends, limit, side="right")))
        yield slice(first, last)
        first = last


def _join_arrays(run: Run, field: str, blocks: Sequence[Encodings | SparseEncodings | MultiEncodings]) -> Part:
    """Join the arrays of all blocks. Offsets continue from the end of the previous block."""
    parts: list[NDArray[np.generic]] = [getattr(block, field) for block in blocks]
    if field not in _OFFSETS:
        return join_blocks(run.workspace / f"{field}.npy", parts)
    return np.cumsum([0, *np.concatenate([np.diff(part) for part in parts])], dtype=np.int64)
