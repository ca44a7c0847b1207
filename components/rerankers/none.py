"""No reranking: hits keep their order."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.protocols import WordTokenizer
from components.records import Passages


@dataclass(frozen=True)
class NoReranker:
    """A reranker that changes nothing. Its depth of 0 means that there is no reranking stage."""

    version: ClassVar[int] = 1
    depth: ClassVar[int] = 0

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """Always None: it reads nothing."""
        return None

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return a zero for every pair, float32[n_pairs]."""
        return np.zeros(len(pairs), dtype=np.float32)
