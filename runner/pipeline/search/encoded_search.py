"""Stages of the searches by an encoder with three heads: one pass over the chunks, then a ranking by each head."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from components import token_similarity
from components.encodings import Encodings, MultiEncodings, SparseEncodings
from components.protocols import ThreeWayEncoder, TokenIndex
from components.records import Hits, Passages
from components.text.ranking import sort_hits
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns, NamedArraysCodec, Parts, SinglePart
from runner.engine.source_code import require_equal_files
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.checked_arrays import validate_arrays
from runner.pipeline.corpus.sub_corpora import ALL, Rows, SearchedCorpora, SubCorpora
from runner.pipeline.corpus.text_passages import ChunkPassages, QueryPassages
from runner.pipeline.search.checked_hits import min_chunk_count, validate_hits
from runner.pipeline.search.encoded_blocks import encode_in_blocks
from runner.pipeline.search.searching import Search


class EncodedChunks(Stage[Encodings], kind="encoded_chunks", version=1):
    """The encoder's output for the chunks."""

    codec = Columns(Encodings)

    encoder: ThreeWayEncoder
    chunks: ChunkPassages

    def make(self, run: Run) -> Encodings:
        """Encode block by block. An interrupted run resumes after the last complete block."""
        return encode_in_blocks(run, self.chunks, Encodings, self._encode)

    def _encode(self, chunks: Passages) -> Encodings:
        encodings = _validate_encodings(self.encoder.encode_chunks(chunks), len(chunks), self.encoder)
        require_equal_files(type(self.encoder))
        return encodings


def _validate_encodings(encodings: Encodings, n_texts: int, encoder: ThreeWayEncoder) -> Encodings:
    if not isinstance(encodings, Encodings):
        raise contract_error(encoder, f"returned {type(encodings).__name__}, expected Encodings")
    counts = [len(encodings.dense), len(encodings.weight_offsets) - 1, len(encodings.vector_offsets) - 1]
    if counts != [n_texts] * 3:
        raise contract_error(
            encoder,
            f"got {counts[0]} vectors, token weights of {counts[1]} and token vectors of {counts[2]} texts, expected "
            f"each of {n_texts}",
        )
    numbers = [array for field in fields(Encodings) if (array := getattr(encodings, field.name)).dtype.kind == "f"]
    if not all(np.isfinite(array).all() for array in numbers):
        raise contract_error(encoder, "got NaN or infinite numbers")
    return encodings


class EncodedQueries(Stage[Encodings], kind="encoded_queries", version=1, work=Work.PER_QUERY):
    """The encoder's output for the queries."""

    codec = Columns(Encodings)

    encoder: ThreeWayEncoder
    queries: QueryPassages

    def make(self, run: Run) -> Encodings:
        queries = self.queries.read(run)
        return _validate_encodings(self.encoder.encode_queries(queries), len(queries), self.encoder)


class DenseHead(Stage[NDArray[np.float32]], kind="dense_head", display_name="dense vectors", version=1):
    """Only the vectors of whole texts, for the stages that search vectors."""

    codec = SinglePart("vectors")

    encoded: Stage[Encodings]

    def make(self, run: Run) -> NDArray[np.float32]:
        """Return the vectors of the encoder's output."""
        return run.read(self.encoded).dense


class BuiltTokenIndex(Stage[Parts], kind="token_index", version=1):
    """The index over the weights of the chunks' tokens, one for each sub-corpus."""

    codec = NamedArraysCodec()

    index: TokenIndex
    encoded: Stage[Encodings | SparseEncodings]
    corpora: SubCorpora

    def make(self, run: Run) -> Parts:
        weights = run.read(self.encoded).sparse
        built = (self.index.build(weights.rows(part.chunks)) for part in self.corpora.ranges(run))
        return sub_corpora.join([validate_arrays(arrays, self.index) for arrays in built])


class TokenHits(Search, kind="token_hits", version=1, work=Work.PER_QUERY):
    """The chunks with the largest weights of shared tokens, for every query."""

    codec = Columns(Hits)

    index: TokenIndex
    built: BuiltTokenIndex
    queries: Stage[Encodings | SparseEncodings]
    corpora: SearchedCorpora

    def make(self, run: Run) -> Hits:
        return self.search(run, self.depth, ALL)

    def search(self, run: Run, depth: int, query_rows: Rows) -> Hits:
        """Return the chunks with the largest weights of tokens shared with the chosen queries."""
        built, queries = run.read(self.built), run.read(self.queries).sparse.rows(query_rows)
        parts = sub_corpora.select_query_rows(self.corpora.ranges(run), query_rows)
        part_hits = []
        for part in parts:
            part_queries = queries.rows(part.queries)
            hits = self.index.search(sub_corpora.arrays_of_part(built, part), part_queries, depth)
            part_hits.append(validate_hits(hits, len(part_queries), min_chunk_count([hits]), self.index))
        return sub_corpora.merge(part_hits, parts, len(queries))


class LateInteractionHits(Search, kind="late_interaction_hits", version=1, work=Work.PER_QUERY):
    """The candidates, ranked by late interaction with every query; all chunks if there are no searches for
    candidates.
    """

    codec = Columns(Hits)

    chunks: Stage[Encodings | MultiEncodings]
    queries: Stage[Encodings | MultiEncodings]
    candidates: tuple[Search, ...]
    corpora: SearchedCorpora

    def make(self, run: Run) -> Hits:
        """Score and sort the chunks for all queries."""
        return self.search(run, self.depth, ALL)

    def search(self, run: Run, depth: int, query_rows: Rows) -> Hits:
        """Return the chunks with the strongest interaction with the chosen queries."""
        chunks, queries = run.read(self.chunks).multi, run.read(self.queries).multi.rows(query_rows)
        if self.candidates:
            union = _union([_find_hits(hits, run, depth, query_rows) for hits in self.candidates])
            query, column = np.nonzero(union >= 0)
            scores = np.zeros(union.shape, dtype=np.float32)
            pairs = np.stack([query.astype(np.int32), union[query, column]], axis=1)
            scores[query, column] = token_similarity.score_pairs(queries, chunks, pairs)
            return sort_hits(union, scores, min(depth, union.shape[1]))
        parts = sub_corpora.select_query_rows(self.corpora.ranges(run), query_rows)
        part_hits = [
            token_similarity.best_chunks(queries.rows(part.queries), chunks.rows(part.chunks), depth) for part in parts
        ]
        return sub_corpora.merge(part_hits, parts, len(queries))


def _find_hits(search: Search, run: Run, depth: int, query_rows: Rows) -> Hits:
    """Return the stored hits if they fit, or else search."""
    return run.read(search) if depth == search.depth and query_rows is ALL else search.search(run, depth, query_rows)


def _union(rankings: Sequence[Hits]) -> NDArray[np.int32]:
    """Return the distinct chunks of all rankings, int32[n_queries, n], padded with -1 at any place."""
    chunk = np.sort(np.concatenate([hits.chunk for hits in rankings], axis=1), axis=1)
    chunk[:, 1:][chunk[:, 1:] == chunk[:, :-1]] = -1
    return chunk
