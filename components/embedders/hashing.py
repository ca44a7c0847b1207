"""Hashed character n-grams: an embedder without training, for tests and as a lower bound."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.limits import too_small
from components.loading import loading
from components.protocols import EmbedderState, WordTokenizer
from components.records import Passages


@dataclass(frozen=True)
class Hashing:
    """Embeds a text as counts of its character n-grams, n from 1 to `max_ngram`, in `n_dimensions` signed buckets
    (scikit-learn), with unit length.
    """

    n_dimensions: int = 256
    max_ngram: int = 2

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """Always None: it reads raw text."""
        return None

    def check(self) -> list[str]:
        """Return error messages for numbers below 1."""
        return too_small(self, n_dimensions=1, max_ngram=1)

    def max_dimensions(self) -> int:
        """Return `n_dimensions`, which all vectors have."""
        return self.n_dimensions

    def fit(self, documents: Passages) -> EmbedderState:
        """Return {}, because this embedder does not learn."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return float32[n_chunks, n_dimensions]; zero for empty text."""
        if not len(chunks):
            return np.zeros((0, self.n_dimensions), dtype=np.float32)
        vectors: Any = self._vectorizer().transform(chunks.texts)
        return vectors.toarray()  # type: ignore[no-any-return]

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of queries; see `embed_chunks`."""
        return self.embed_chunks(queries, state)

    def _vectorizer(self) -> Any:
        with loading():
            from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(
            analyzer="char", ngram_range=(1, self.max_ngram), n_features=self.n_dimensions, dtype=np.float32
        )
