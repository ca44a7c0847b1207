"""The best hits, as many as fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from components.protocols import Tokenizer
from components.records import Context, Hits
from components.tokenizers.cl100k import Cl100k


class Order(StrEnum):
    """The order of chunks in the prompt: best first, best last (next to the question), or as in the corpus."""

    BEST_FIRST = "best_first"
    BEST_LAST = "best_last"
    CORPUS = "corpus"


@dataclass(frozen=True)
class PackedContext:
    """Takes the first top_k hits, best first, as long as they fit into `max_tokens`. A hit that does not fit is dropped
    as a whole and its tokens are counted; smaller ones after it may still fit.
    """

    max_tokens: int = 8192
    order: Order = Order.BEST_FIRST
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """A budget below 1."""
        return [] if self.max_tokens >= 1 else [f"max_tokens: got {self.max_tokens}, wanted at least 1"]

    def build(self, hits: Hits, chunks: Sequence[str], top_k: int) -> Context:
        """Chunks in prompt order, padded with -1, with the tokens kept and dropped."""
        best = hits.chunk[:, :top_k]
        used = np.unique(best[best >= 0])
        # Each chunk is tokenised once, although many samples may share it.
        lengths = {
            int(chunk): len(ends)
            for chunk, ends in zip(used, self.tokenizer.token_ends([chunks[int(i)] for i in used]), strict=True)
        }
        chosen = np.full((len(best), top_k), -1, dtype=np.int32)
        n_kept, n_dropped = np.zeros(len(best), dtype=np.int64), np.zeros(len(best), dtype=np.int64)
        for i, row in enumerate(best.tolist()):
            kept: list[int] = []
            for chunk in row:
                if chunk < 0:
                    continue
                if n_kept[i] + lengths[chunk] <= self.max_tokens:
                    kept.append(chunk)
                    n_kept[i] += lengths[chunk]
                else:
                    n_dropped[i] += lengths[chunk]
            chosen[i, : len(kept)] = self._ordered(kept)
        return Context(chosen, n_kept, n_dropped)

    def _ordered(self, best_first: list[int]) -> list[int]:
        if self.order is Order.CORPUS:
            return sorted(best_first)
        return best_first[::-1] if self.order is Order.BEST_LAST else best_first
