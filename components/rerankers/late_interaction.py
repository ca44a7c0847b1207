"""Late interaction as a reranker: ColBERT's score, by the token vectors of an encoder."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.encodings import Encodings
from components.late_interaction import score_pairs
from components.protocols import ThreeWayEncoder
from components.records import Passages


@dataclass(frozen=True)
class LateInteraction:
    """The mean over the query's tokens of the largest inner product with a token of the chunk, which for BGE-M3 is what
    FlagEmbedding's `colbert_score` gives. In [-1, 1]; 0 for a blank query or chunk. `depth` hits per query are scored.

    In a sweep all chunks of the corpus are encoded once and kept, for this reranker and for `retriever=bge_m3` alike.
    """

    encoder: ThreeWayEncoder
    depth: int = 100

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    n_pairs_per_block: ClassVar[int] = 16_384

    def check(self) -> list[str]:
        """A depth below 1."""
        return (
            [] if self.depth >= 1 else [f"depth: got {self.depth}, expected at least 1 (for none, use reranker=none)"]
        )

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[n_pairs]. Encodes the queries and chunks of the pairs, and keeps nothing."""
        if not len(pairs):
            return np.zeros(0, dtype=np.float32)
        asked, query = np.unique(pairs[:, 0], return_inverse=True)
        scored, chunk = np.unique(pairs[:, 1], return_inverse=True)
        return self.score_encoded(
            self.encoder.encode_queries(Passages([queries.texts[row] for row in asked.tolist()])),
            self.encoder.encode_chunks(Passages([chunks.texts[row] for row in scored.tolist()])),
            np.stack([query, chunk], axis=1).astype(np.int32),
        )

    def score_encoded(self, queries: Encodings, chunks: Encodings, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[n_pairs], of which no score depends on the other pairs."""
        return score_pairs(queries.multi, chunks.multi, pairs)
