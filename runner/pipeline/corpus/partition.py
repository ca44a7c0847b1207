"""Divides a corpus into blocks of documents, so that no stage has to hold all of it in memory.

Results of a block are stored under its content. If documents are added to a corpus or removed, its partition reuses the
cached blocks, and only blocks with new documents are computed. The partition does not change any result.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from components.errors import DamagedEntryError
from components.fields import runtime_only
from components.records import Benchmark
from runner.engine.codecs import Columns, Parts
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.document_table import read_documents

DOCUMENTS_PER_BLOCK = 20_000

_AFTER_ALL = "\U0010ffff"

_MORE_BLOCKS = 2
_FEW_BLOCKS = 16
"""Limit of the number of blocks of a growing corpus.

It has at most `_MORE_BLOCKS` times as many blocks as a new partition, plus `_FEW_BLOCKS`, because each block costs time
in a search.
"""


Blocks = tuple[NDArray[np.uint64], NDArray[np.int32]]
"""Content ids of the documents, and the block of each."""


@dataclass(frozen=True)
class Partition:
    """Blocks of a corpus.

    `block` int32[n_documents] is the block of each document, `numbers` uint64[n_documents] identify the documents'
    contents. `contents[b]` identifies block b. `of_prefix[p]` are the blocks of the p-th of the corpora side by side:
    no block crosses their bounds.
    """

    block: NDArray[np.int32]
    numbers: NDArray[np.uint64]
    contents: Sequence[str]
    of_prefix: Sequence[Sequence[int]]


class CorpusPartition(Stage[Partition], kind="partition", version=1, work=Work.BENCHMARK):
    """The division of a corpus into blocks of documents. Computed for the plan, which counts the cached blocks."""

    codec = Columns(Partition)

    content: str
    documents_per_block: int
    prefixes: tuple[str, ...]
    data: Stage[Benchmark] = runtime_only(None, "its content hash identifies it, however it was loaded")

    def make(self, run: Run) -> Partition:
        """Partition the corpus, reusing blocks of other cached corpora."""
        parts = run.parts(self.data)
        hashes = np.asarray(parts["hashes"])
        ranges = [(0, len(hashes))]
        if any(self.prefixes):
            ids = read_documents(parts).ids
            ranges = [prefix_range(ids, prefix) for prefix in self.prefixes]
        bounds = sorted({0, len(hashes), *(bound for both in ranges for bound in both)})
        return partition_documents(
            hashes, bounds, ranges, self.documents_per_block, cached_blocks(run.stored_results(CorpusPartition.kind))
        )


def cached_blocks(partitions: Iterable[Parts]) -> Iterator[Blocks]:
    """Yield the blocks of cached partitions. Skips unreadable partitions, which costs only their reuse."""
    for parts in partitions:
        with suppress(DamagedEntryError, KeyError):
            numbers, block = parts["numbers"], parts["block"]
            if _are_blocks(numbers, block):
                yield numbers, block


def _are_blocks(numbers: NDArray[np.generic], block: NDArray[np.generic]) -> bool:
    """Return True if the arrays have this version's format, because other versions may share the store."""
    return (
        numbers.dtype == np.uint64
        and block.dtype == np.int32
        and numbers.shape == block.shape == (len(block),)
        and (not len(block) or bool(block.min() >= 0 and block.max() < len(block)))
    )


def prefix_range(ids: Sequence[str], prefix: str) -> tuple[int, int]:
    """Return the range of the sorted ids that begin with a prefix."""
    return bisect_left(ids, prefix), bisect_left(ids, prefix + _AFTER_ALL)


def partition_documents(
    hashes: NDArray[np.uint8],
    bounds: Sequence[int],
    ranges: Sequence[tuple[int, int]],
    size: int,
    known_blocks: Iterable[Blocks],
) -> Partition:
    """Partition documents into blocks of at most `size` consecutive documents, or into the `known_blocks` of other
    corpora.

    No block crosses the `bounds`. `hashes` is uint8[n_documents, 16].
    """
    size = min(size, max(len(hashes), 1))  # NumPy has no integers above 64 bits
    numbers = np.ascontiguousarray(hashes[:, :8]).view(np.uint64).ravel()
    block = np.full(len(hashes), -1, dtype=np.int32)
    interval = np.searchsorted(bounds, np.arange(len(hashes)), side="right")
    max_blocks = _MORE_BLOCKS * -(-len(hashes) // size) + _FEW_BLOCKS
    n_blocks = 0
    for rows in _reusable_blocks(numbers, known_blocks, size):
        if n_blocks < max_blocks and (block[rows] < 0).all() and interval[rows[0]] == interval[rows[-1]]:
            block[rows] = n_blocks
            n_blocks += 1
    for first, last in pairwise(bounds):
        rows = first + np.flatnonzero(block[first:last] < 0)
        block[rows] = n_blocks + np.arange(len(rows)) // size
        n_blocks += -(-len(rows) // size)
    return Partition(
        block,
        numbers,
        [sha256(hashes[rows].tobytes()).hexdigest() for rows in _block_rows(block)],
        [np.unique(block[first:last]).tolist() for first, last in ranges],
    )


def _reusable_blocks(numbers: NDArray[np.uint64], known_blocks: Iterable[Blocks], size: int) -> list[NDArray[np.int64]]:
    """Return the rows of each known block, largest first. Skips blocks above `size` and blocks that lack a document."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    reusable: dict[bytes, NDArray[np.int64]] = {}
    for theirs, block in known_blocks:
        positions = np.searchsorted(ordered, theirs)
        is_here = positions < len(ordered)
        is_here[is_here] = ordered[positions[is_here]] == theirs[is_here]
        for members in _block_rows(block):
            if 0 < len(members) <= size and is_here[members].all():
                rows = np.sort(order[positions[members]])
                reusable.setdefault(rows.tobytes(), rows)
    return sorted(reusable.values(), key=lambda rows: (-len(rows), rows.tobytes()))


def _block_rows(block: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Return the rows of each block, ascending. A block number that does not occur has no rows."""
    ends = np.cumsum(np.bincount(block))
    return np.split(np.argsort(block, kind="stable"), ends)[:-1]  # the part after the last end is empty


@dataclass(frozen=True)
class PartitionSummary:
    """The part of a partition that a plan needs.

    It has the contents of the blocks, and the blocks of each of the corpora side by side.
    """

    partition: CorpusPartition
    contents: tuple[str, ...]
    of_prefix: tuple[tuple[int, ...], ...]

    @classmethod
    def from_partition(cls, partition: CorpusPartition, stored: Parts) -> "PartitionSummary":
        """Summarize a stored partition."""
        return cls(partition, tuple(stored["contents"]), tuple(map(tuple, stored["of_prefix"])))
