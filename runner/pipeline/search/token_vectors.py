"""Stages of token vectors: those that an encoder computes for late interaction between chunks and queries."""

import numpy as np

from components.encodings import MultiEncodings
from components.protocols import TokenVectorEncoder
from components.records import Passages
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.source_code import require_equal_files
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.text_passages import ChunkPassages, QueryPassages
from runner.pipeline.search.encoded_blocks import encode_in_blocks

_MAX_SQUARED_LENGTH = 1.01
"""Half precision rounds a vector of unit length by less."""


class ChunkTokenVectors(
    Stage[MultiEncodings], kind="chunk_token_vectors", display_name="token vectors of chunks", version=1
):
    """The token vectors of the chunks."""

    codec = Columns(MultiEncodings)

    encoder: TokenVectorEncoder
    chunks: ChunkPassages

    def make(self, run: Run) -> MultiEncodings:
        """Encode block by block. An interrupted run resumes after the last complete block."""
        return encode_in_blocks(run, self.chunks, MultiEncodings, self._encode)

    def _encode(self, chunks: Passages) -> MultiEncodings:
        vectors = _validate_encodings(self.encoder.encode_chunk_tokens(chunks), len(chunks), self.encoder)
        require_equal_files(type(self.encoder))
        return vectors


class QueryTokenVectors(
    Stage[MultiEncodings],
    kind="query_token_vectors",
    display_name="token vectors of queries",
    version=1,
    work=Work.PER_QUERY,
):
    """The token vectors of the queries."""

    codec = Columns(MultiEncodings)

    encoder: TokenVectorEncoder
    queries: QueryPassages

    def make(self, run: Run) -> MultiEncodings:
        queries = self.queries.read(run)
        return _validate_encodings(self.encoder.encode_query_tokens(queries), len(queries), self.encoder)


def _validate_encodings(encodings: MultiEncodings, n_texts: int, encoder: TokenVectorEncoder) -> MultiEncodings:
    """Return the encodings if every text has its vectors, in half precision, finite and no longer than 1."""
    if not isinstance(encodings, MultiEncodings):
        raise contract_error(encoder, f"returned {type(encodings).__name__}, expected MultiEncodings")
    if len(encodings) != n_texts:
        raise contract_error(encoder, f"got token vectors of {len(encodings)} texts, expected {n_texts}")
    if encodings.vectors.dtype != np.float16 or encodings.vectors.ndim != 2:
        shape = f"{encodings.vectors.dtype} with {encodings.vectors.ndim} dimensions"
        raise contract_error(encoder, f"got vectors as {shape}, expected float16[n_tokens, d]")
    first, last = int(encodings.vector_offsets[0]), int(encodings.vector_offsets[-1])
    if (np.diff(encodings.vector_offsets) < 0).any() or (first, last) != (0, len(encodings.vectors)):
        raise contract_error(
            encoder, f"got offsets that do not divide {len(encodings.vectors)} vectors among the texts"
        )
    squares = np.einsum("td,td->t", encodings.vectors, encodings.vectors, dtype=np.float32)
    if not (squares <= _MAX_SQUARED_LENGTH).all():  # the comparison is also false for NaN
        raise contract_error(encoder, "got token vectors that are NaN, infinite or longer than 1, expected unit length")
    return encodings
