"""Contexts of the best hits that fit, optionally with the chunks around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from components.contexts.neighbours import merge_with_neighbours
from components.fields import added_later
from components.limits import too_small
from components.protocols import Tokenizer
from components.records import Context, Hits, SpanTexts
from components.tokenizers.cl100k import Cl100k

_Chunks = tuple[int, ...]
"""The chunks of one passage, in document order."""


class Order(StrEnum):
    """The order of passages in the prompt.

    BEST_LAST puts the best next to the question. CORPUS is the order of the corpus. EDGES_FIRST puts the best at both
    edges and the worst in the middle, which models overlook most (Liu et al. 2023, "Lost in the Middle", section 4).
    """

    BEST_FIRST = "best_first"
    BEST_LAST = "best_last"
    CORPUS = "corpus"
    EDGES_FIRST = "edges_first"


@dataclass(frozen=True)
class PackedContext:
    """Selects the first top_k hits, best first, as long as they fit into `max_tokens`.

    A hit that does not fit is dropped as a whole, and its tokens are counted. Smaller hits after it may still fit. With
    `merge`, adjacent or overlapping hits of a document form one passage without repetitions. `window` also adds that
    many chunks before and after each hit, and merges too. Passages are then kept or dropped as a whole, in the
    order of their best hits.
    """

    max_tokens: int = 8192
    order: Order = Order.BEST_FIRST
    tokenizer: Tokenizer = Cl100k()
    window: int = added_later(0)
    merge: bool = added_later(False)

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for a budget below 1 and a window below 0."""
        return too_small(self, max_tokens=1, window=0)

    @property
    def merges(self) -> bool:
        """True if adjacent chunks of a document form one passage."""
        return self.merge or self.window > 0

    @property
    def n_chunks_per_hit(self) -> int:
        """Number of chunks per hit: the hit and the chunks around it."""
        return 1 + 2 * self.window

    def build(self, hits: Hits, chunks: SpanTexts, top_k: int) -> Context:
        """Return chunks in prompt order, padded with -1, with the numbers of chosen and dropped tokens."""
        best = [[chunk for chunk in row if chunk >= 0] for row in hits.chunk[:, :top_k].tolist()]
        rows = [self._passages(row, chunks) for row in best]
        lengths = self._lengths(rows, chunks)
        chosen = np.full((len(rows), top_k * self.n_chunks_per_hit), -1, dtype=np.int32)
        n_taken, n_dropped = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        for i, passages in enumerate(rows):
            passages_within: list[_Chunks] = []
            for passage in passages:
                if n_taken[i] + lengths[passage] <= self.max_tokens:
                    passages_within.append(passage)
                    n_taken[i] += lengths[passage]
                else:
                    n_dropped[i] += lengths[passage]
            ordered = [chunk for passage in self._order(passages_within) for chunk in passage]
            chosen[i, : len(ordered)] = ordered
        return Context(chosen, n_taken, n_dropped)

    def _passages(self, best_first: list[int], chunks: SpanTexts) -> list[_Chunks]:
        if self.merges:
            return merge_with_neighbours(best_first, self.window, chunks.spans)
        return [(chunk,) for chunk in best_first]

    def _lengths(self, rows: Sequence[Sequence[_Chunks]], chunks: SpanTexts) -> dict[_Chunks, int]:
        """Return lengths in tokens. Each passage is tokenized once, although many samples may share it."""
        passages = list(dict.fromkeys(passage for row in rows for passage in row))
        ends = self.tokenizer.token_ends([chunks.join_spans(passage) for passage in passages])
        return {passage: len(passage_ends) for passage, passage_ends in zip(passages, ends, strict=True)}

    def _order(self, best_first: list[_Chunks]) -> list[_Chunks]:
        match self.order:
            case Order.BEST_FIRST:
                return best_first
            case Order.BEST_LAST:
                return best_first[::-1]
            case Order.CORPUS:
                return sorted(best_first)
            case Order.EDGES_FIRST:
                return best_first[::2] + best_first[1::2][::-1]
