"""Connects the stages of a single search: of one arm that searches the chunks of the corpus."""

from components.encodings import Encodings, MultiEncodings
from components.protocols import (
    CandidateArm,
    DenseArm,
    EncodedArm,
    EncodedDenseArm,
    EncodedSparseArm,
    GraphArm,
    SparseArm,
    ThreeWayEncoder,
    TokenVectorEncoder,
    TokenWeigher,
)
from components.records import Queries, Spans
from runner.engine.stage import Stage
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.text_passages import ChunkPassages, QueryPassages
from runner.pipeline.search.dense_search import BuiltVectorIndex, DenseHits, build_dense_search
from runner.pipeline.search.encoded_search import (
    BuiltTokenIndex,
    DenseHead,
    EncodedChunks,
    EncodedQueries,
    LateInteractionHits,
    TokenHits,
)
from runner.pipeline.search.graph_search import build_graph_search
from runner.pipeline.search.searching import Search
from runner.pipeline.search.sparse_search import build_sparse_search, without_hit_check
from runner.pipeline.search.token_vectors import ChunkTokenVectors, QueryTokenVectors
from runner.pipeline.search.weighed_texts import SparseChunkVectors, SparseQueryVectors


def build_arm_search(
    arm: CandidateArm | EncodedArm | GraphArm,
    data: DatasetStages,
    chunks: Stage[Spans],
    queries: Stage[Queries],
    depth: int,
    *,
    is_first: bool = True,
) -> Search:
    """Return the stage that searches with an arm.

    Later searches have few queries, so their indexes do not fail if many queries have no hit.
    """
    if isinstance(arm, DenseArm):
        return build_dense_search(arm, data, chunks, queries, depth)
    if isinstance(arm, SparseArm):
        index = arm.sparse_index if is_first else without_hit_check(arm.sparse_index)
        return build_sparse_search(index, data, chunks, queries, depth)
    if isinstance(arm, GraphArm):
        return build_graph_search(arm, data, chunks, queries, depth)
    return _encoded_hits(arm, data, chunks, queries, depth, is_first=is_first)


def _encoded_hits(
    arm: EncodedArm, data: DatasetStages, chunks: Stage[Spans], queries: Stage[Queries], depth: int, *, is_first: bool
) -> Search:
    corpora = sub_corpora.split_corpus(data, chunks)
    searched = sub_corpora.add_query_rows(corpora, queries, data.samples)
    if isinstance(arm, EncodedSparseArm) and isinstance(arm.encoder, TokenWeigher):
        weighed = SparseChunkVectors(arm.encoder, ChunkPassages(data.corpus, chunks))
        index = BuiltTokenIndex(arm.token_index, weighed, corpora)
        weighed_queries = SparseQueryVectors(arm.encoder, QueryPassages(queries))
        return TokenHits(depth, arm.token_index, index, weighed_queries, searched)
    if isinstance(arm, EncodedDenseArm | EncodedSparseArm):
        assert isinstance(arm.encoder, ThreeWayEncoder), "the fields of arms have these types"
        chunk_stage = EncodedChunks(arm.encoder, ChunkPassages(data.corpus, chunks))
        query_stage = EncodedQueries(arm.encoder, QueryPassages(queries))
        if isinstance(arm, EncodedSparseArm):
            index = BuiltTokenIndex(arm.token_index, chunk_stage, corpora)
            return TokenHits(depth, arm.token_index, index, query_stage, searched)
        vectors = DenseHead(chunk_stage)
        built = BuiltVectorIndex(arm.vector_index.as_built, vectors, corpora)
        return DenseHits(depth, arm.vector_index, built, vectors, DenseHead(query_stage), searched)
    candidates = tuple(
        build_arm_search(other, data, chunks, queries, depth, is_first=is_first) for other in arm.candidates
    )
    vectors_of_chunks = encoded_chunks(arm.encoder, data, chunks)
    return LateInteractionHits(depth, vectors_of_chunks, encoded_queries(arm.encoder, queries), candidates, searched)


def encoded_chunks(
    encoder: ThreeWayEncoder | TokenVectorEncoder, data: DatasetStages, chunks: Stage[Spans]
) -> Stage[Encodings | MultiEncodings]:
    """Return the encodings of chunks that all searches and rerankers with this encoder share."""
    passages = ChunkPassages(data.corpus, chunks)
    if isinstance(encoder, TokenVectorEncoder):
        return ChunkTokenVectors(encoder, passages)
    return EncodedChunks(encoder, passages)


def encoded_queries(
    encoder: ThreeWayEncoder | TokenVectorEncoder, queries: Stage[Queries]
) -> Stage[Encodings | MultiEncodings]:
    """Return the encodings of queries that all searches and rerankers with this encoder share."""
    passages = QueryPassages(queries)
    if isinstance(encoder, TokenVectorEncoder):
        return QueryTokenVectors(encoder, passages)
    return EncodedQueries(encoder, passages)
