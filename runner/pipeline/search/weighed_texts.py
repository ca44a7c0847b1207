"""Stages of learned sparse vectors: the weights of tokens that an encoder gives to chunks and queries."""

import numpy as np

from components.encodings import SparseEncodings
from components.protocols import TokenWeigher
from components.records import Passages
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.source_code import require_equal_files
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.text_passages import ChunkPassages, QueryPassages
from runner.pipeline.search.encoded_blocks import encode_in_blocks


class SparseChunkVectors(
    Stage[SparseEncodings], kind="weighed_chunks", display_name="sparse vectors of chunks", version=1
):
    """The token weights of the chunks."""

    codec = Columns(SparseEncodings)

    encoder: TokenWeigher
    chunks: ChunkPassages

    def make(self, run: Run) -> SparseEncodings:
        """Encode block by block. An interrupted run resumes after the last complete block."""
        return encode_in_blocks(run, self.chunks, SparseEncodings, self._weigh)

    def _weigh(self, chunks: Passages) -> SparseEncodings:
        weights = _validate_weights(self.encoder.weigh_chunks(chunks), len(chunks), self.encoder)
        require_equal_files(type(self.encoder))
        return weights


class SparseQueryVectors(
    Stage[SparseEncodings],
    kind="weighed_queries",
    display_name="sparse vectors of queries",
    version=1,
    work=Work.PER_QUERY,
):
    """The token weights of the queries."""

    codec = Columns(SparseEncodings)

    encoder: TokenWeigher
    queries: QueryPassages

    def make(self, run: Run) -> SparseEncodings:
        queries = self.queries.read(run)
        return _validate_weights(self.encoder.weigh_queries(queries), len(queries), self.encoder)


def _validate_weights(weights: SparseEncodings, n_texts: int, encoder: TokenWeigher) -> SparseEncodings:
    """Return the weights if there is a row per text, with increasing ids and finite weights above zero."""
    if not isinstance(weights, SparseEncodings):
        raise contract_error(encoder, f"returned {type(weights).__name__}, expected SparseEncodings")
    if len(weights) != n_texts:
        raise contract_error(encoder, f"got token weights of {len(weights)} texts, expected {n_texts}")
    if not (np.isfinite(weights.weights).all() and (weights.weights > 0).all()):
        raise contract_error(encoder, "got token weights that are NaN, infinite or not above 0")
    is_first = np.zeros(len(weights.weight_ids) + 1, dtype=bool)
    is_first[weights.weight_offsets] = True
    if ((np.diff(weights.weight_ids) <= 0) & ~is_first[1:-1]).any():
        raise contract_error(encoder, "got a token twice or out of order in a text, expected increasing ids")
    return weights
