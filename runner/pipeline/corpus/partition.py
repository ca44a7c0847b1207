"""How a corpus is parted into blocks of documents, so that none of its stages must hold all of it.

What is made of a block is kept under the block's content: a corpus that grew, or lost documents, is parted along the
blocks that are kept, and only blocks of new documents are worked on. How a corpus is parted changes no result.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import DamagedEntryError
from components.fields import runtime_only
from components.records import Benchmark
from runner.engine.codecs import Codec, Columns, Parts
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.document_table import documents_of

DOCUMENTS_PER_BLOCK = 20_000

_AFTER_ALL = "\U0010ffff"

_MORE_BLOCKS = 2
_FEW_BLOCKS = 16
"""A corpus that grows again and again keeps at most so many times the blocks, and some more, that it would have if it
were parted anew: each costs a search some time.
"""


Blocks = tuple[NDArray[np.uint64], NDArray[np.int32]]
"""Of a corpus: the numbers of its documents, and the block of each."""


@dataclass(frozen=True)
class Partition:
    """`block` int32[n_documents] is the block of each document, `numbers` uint64[n_documents] stand for the documents'
    contents. Block b is known by `contents[b]`, and `of_prefix[p]` are the blocks that make up the p-th corpus of those
    side by side: no block lies across their bounds.
    """

    block: NDArray[np.int32]
    numbers: NDArray[np.uint64]
    contents: Sequence[str]
    of_prefix: Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class CorpusPartition(Stage[Partition]):
    """The blocks of a corpus, `content` its key. Made when a sweep is planned: the plan counts what is kept of each."""

    kind: ClassVar[str] = "partition"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Partition]] = Columns(Partition)

    content: str
    documents_per_block: int
    prefixes: tuple[str, ...]
    data: Stage[Benchmark] = runtime_only(None, "the hash of the content stands for it, wherever it was loaded from")

    def make(self, run: Run) -> Partition:
        """Parts it along the blocks of other corpora, as far as these are kept."""
        parts = run.parts(self.data)
        hashes = np.asarray(parts["hashes"])
        ranges = [(0, len(hashes))]
        if any(self.prefixes):
            ids = documents_of(parts).ids
            ranges = [first_and_last(ids, prefix) for prefix in self.prefixes]
        bounds = sorted({0, len(hashes), *(bound for both in ranges for bound in both)})
        return parted(hashes, bounds, ranges, self.documents_per_block, kept_blocks(run.kept(CorpusPartition.kind)))


def kept_blocks(kept: Iterable[Parts]) -> Iterator[Blocks]:
    """Those of partitions. What cannot be read is only not gone on from."""
    for parts in kept:
        with suppress(DamagedEntryError, KeyError):
            numbers, block = parts["numbers"], parts["block"]
            if _are_blocks(numbers, block):
                yield numbers, block


def _are_blocks(numbers: NDArray[np.generic], block: NDArray[np.generic]) -> bool:
    """Whether it is what this version would keep: others may share the store."""
    return (
        numbers.dtype == np.uint64
        and block.dtype == np.int32
        and numbers.shape == block.shape == (len(block),)
        and (not len(block) or bool(block.min() >= 0 and block.max() < len(block)))
    )


def first_and_last(ids: Sequence[str], prefix: str) -> tuple[int, int]:
    """Where the sorted ids that begin with a prefix begin and end."""
    return bisect_left(ids, prefix), bisect_left(ids, prefix + _AFTER_ALL)


def parted(
    hashes: NDArray[np.uint8],
    bounds: Sequence[int],
    ranges: Sequence[tuple[int, int]],
    size: int,
    known: Iterable[Blocks],
) -> Partition:
    """Blocks of at most `size` documents in a row, none across the `bounds`, or such as are `known` from other corpora.
    `hashes` uint8[n_documents, 16].
    """
    size = min(size, max(len(hashes), 1))  # NumPy knows no larger numbers than those of 64 bits
    numbers = np.ascontiguousarray(hashes[:, :8]).view(np.uint64).ravel()
    block = np.full(len(hashes), -1, dtype=np.int32)
    interval = np.searchsorted(bounds, np.arange(len(hashes)), side="right")
    n_most = _MORE_BLOCKS * -(-len(hashes) // size) + _FEW_BLOCKS
    n_blocks = 0
    for rows in _still_whole(numbers, known, size):
        if n_blocks < n_most and (block[rows] < 0).all() and interval[rows[0]] == interval[rows[-1]]:
            block[rows] = n_blocks
            n_blocks += 1
    for first, last in pairwise(bounds):
        rows = first + np.flatnonzero(block[first:last] < 0)
        block[rows] = n_blocks + np.arange(len(rows)) // size
        n_blocks += -(-len(rows) // size)
    return Partition(
        block,
        numbers,
        [sha256(hashes[rows].tobytes()).hexdigest() for rows in _rows_of_blocks(block)],
        [np.unique(block[first:last]).tolist() for first, last in ranges],
    )


def _still_whole(numbers: NDArray[np.uint64], known: Iterable[Blocks], size: int) -> list[NDArray[np.int64]]:
    """The rows of known blocks, not too large, all of whose documents are here, the largest first."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    found: dict[bytes, NDArray[np.int64]] = {}
    for theirs, block in known:
        place = np.searchsorted(ordered, theirs)
        is_here = place < len(ordered)
        is_here[is_here] = ordered[place[is_here]] == theirs[is_here]
        for members in _rows_of_blocks(block):
            if 0 < len(members) <= size and is_here[members].all():
                rows = np.sort(order[place[members]])
                found.setdefault(rows.tobytes(), rows)
    return sorted(found.values(), key=lambda rows: (-len(rows), rows.tobytes()))


def _rows_of_blocks(block: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """The rows of each block, ascending; none for a number that no row has."""
    ends = np.cumsum(np.bincount(block))
    return np.split(np.argsort(block, kind="stable"), ends)[:-1]  # behind the last end there is nothing


@dataclass(frozen=True)
class CorpusParts:
    """What a plan needs of a partition: the contents of the blocks, and which of them each of several corpora side by
    side is made of.
    """

    partition: CorpusPartition
    contents: tuple[str, ...]
    of_prefix: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, partition: CorpusPartition, kept: Parts) -> "CorpusParts":
        """From what is kept of the partition."""
        return cls(partition, tuple(kept["contents"]), tuple(map(tuple, kept["of_prefix"])))
