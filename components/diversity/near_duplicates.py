"""Removes hits that repeat a better one."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.limits import too_small
from components.protocols import WordTokenizer
from components.records import Hits, Passages, Terms
from components.text.ranking import drop_hits
from components.tokenizers.rjieba_words import RjiebaWords

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of the rolling hash of a shingle: odd, so that no bit is lost."""


@dataclass(frozen=True)
class NearDuplicates:
    """Removes hits whose resemblance to a better remaining hit is at least `threshold`.

    The resemblance is the Jaccard index of their shingles, which are `n` consecutive terms. A hit with fewer terms is
    one shingle; a hit without terms resembles none. It compares `depth` hits per query, and keeps the hits after them.

    Source: Broder 1997, "On the resemblance and containment of documents", section 2; exact, without sketches.
    """

    threshold: float = 0.8
    n: int = 3
    depth: int = 100
    tokenizer: WordTokenizer = RjiebaWords()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        problems = too_small(self, n=1, depth=1)
        if not 0 < self.threshold <= 1:
            problems.append(f"threshold: got {self.threshold}, expected a share above 0, at most 1")
        return problems

    def diversify(self, hits: Hits, chunks: Passages) -> Hits:
        """Return the remaining hits with their scores."""
        assert chunks.terms is not None, "it has a tokenizer, so terms are filled"
        head = hits.chunk[:, : self.depth]
        used = np.unique(head[head >= 0])
        holds = self._shingle_matrix(chunks.terms, used)
        dropped = np.zeros(hits.chunk.shape, dtype=bool)
        for row, hit_chunks in enumerate(head):
            columns = np.flatnonzero(hit_chunks >= 0)
            resemblance = _resemblance(holds[np.searchsorted(used, hit_chunks[columns])])
            remaining: list[int] = []
            for i, column in enumerate(columns.tolist()):
                dropped[row, column] = bool((resemblance[i, remaining] >= self.threshold).any())
                remaining += [] if dropped[row, column] else [i]
        return drop_hits(hits, dropped)

    def _shingle_matrix(self, terms: Terms, chunks: NDArray[np.int32]) -> Any:
        """Return a SciPy CSR array, int32[n_chunks, n_shingles], with 1 if a chunk contains a shingle."""
        from scipy.sparse import csr_array

        shingles = [np.unique(self._shingles(terms.row(chunk))) for chunk in chunks.tolist()]
        _, column = np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *shingles]), return_inverse=True)
        row = np.repeat(np.arange(len(chunks)), [len(distinct) for distinct in shingles])
        shape = len(chunks), int(column.max(initial=0)) + 1
        return csr_array((np.ones(len(row), dtype=np.int32), (row, column)), shape=shape)

    def _shingles(self, ids: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return a 64-bit hash for every `n` consecutive terms."""
        if not len(ids):
            return np.zeros(0, dtype=np.uint64)
        n = min(self.n, len(ids))
        windows = np.lib.stride_tricks.sliding_window_view(ids.astype(np.uint64) + np.uint64(1), n)
        hashed = np.zeros(len(windows), dtype=np.uint64)
        for i in range(n):  # wraps around at 64 bits on purpose
            hashed = (hashed ^ windows[:, i]) * _MULTIPLIER
            hashed ^= hashed >> np.uint64(29)
        return hashed


def _resemblance(holds: Any) -> NDArray[np.float64]:
    """Return float64[n_chunks, n_chunks] from a `_shingle_matrix`; 0 if neither chunk has shingles."""
    shared = (holds @ holds.T).toarray()
    size = shared.diagonal()
    union = size[:, None] + size[None, :] - shared
    share: NDArray[np.float64] = np.divide(shared, union, out=np.zeros(union.shape), where=union > 0)
    return share
