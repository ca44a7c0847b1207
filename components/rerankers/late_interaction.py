"""Late interaction as a reranker: ColBERT's score over the token vectors of an encoder."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.encodings import WithTokenVectors
from components.protocols import ThreeWayEncoder, TokenVectorEncoder
from components.records import Passages
from components.token_similarity import score_pairs


@dataclass(frozen=True)
class LateInteraction:
    """Scores by ColBERT's late interaction: the mean over the query's tokens of the largest inner product with a token
    of the chunk.

    For BGE-M3 it equals FlagEmbedding's `colbert_score`. Scores are in [-1, 1], and 0 for a blank query or chunk. It
    scores `depth` hits per query. In a sweep, all chunks of the corpus are encoded once, and the encodings are cached
    for this reranker and for `retriever=bge_m3` or `retriever=colbert` with the same encoder.
    """

    encoder: ThreeWayEncoder | TokenVectorEncoder
    depth: int = 100

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    n_pairs_per_block: ClassVar[int] = 16_384

    def check(self) -> list[str]:
        """Return an error message for a depth below 1."""
        return (
            [] if self.depth >= 1 else [f"depth: got {self.depth}, expected at least 1 (for none, use reranker=none)"]
        )

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[n_pairs]. It encodes the queries and chunks of the pairs, and stores nothing."""
        if not len(pairs):
            return np.zeros(0, dtype=np.float32)
        query_rows, query = np.unique(pairs[:, 0], return_inverse=True)
        chunk_rows, chunk = np.unique(pairs[:, 1], return_inverse=True)
        return self.score_encoded(
            self._encode_queries(Passages([queries.texts[row] for row in query_rows.tolist()])),
            self._encode_chunks(Passages([chunks.texts[row] for row in chunk_rows.tolist()])),
            np.stack([query, chunk], axis=1).astype(np.int32),
        )

    def score_encoded(
        self, queries: WithTokenVectors, chunks: WithTokenVectors, pairs: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return float32[n_pairs]. No score depends on the other pairs."""
        return score_pairs(queries.multi, chunks.multi, pairs)

    def _encode_queries(self, queries: Passages) -> WithTokenVectors:
        if isinstance(self.encoder, TokenVectorEncoder):
            return self.encoder.encode_query_tokens(queries)
        return self.encoder.encode_queries(queries)

    def _encode_chunks(self, chunks: Passages) -> WithTokenVectors:
        if isinstance(self.encoder, TokenVectorEncoder):
            return self.encoder.encode_chunk_tokens(chunks)
        return self.encoder.encode_chunks(chunks)
