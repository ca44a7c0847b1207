"""Stages of the search by embedding: embed the queries, index, search."""

import uuid
from pathlib import Path

from components.errors import ComponentError
from components.protocols import (
    AsksInBatches,
    DenseArm,
    Embedder,
    EmbedderState,
    EncodedDenseArm,
    ExternalIndex,
    KnowsDimensions,
    Retriever,
    ShortensVectors,
    VectorIndex,
)
from components.records import Hits, Queries, Spans
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns, NamedArraysCodec, Parts, SinglePart
from runner.engine.stage import ServerRequests, Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.checked_arrays import EmbeddedTexts, validate_arrays, validate_vectors
from runner.pipeline.corpus.chunk_vectors import Vectors, embed_all_blocks
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.server_requests import embedding_requests, texts_to_request
from runner.pipeline.corpus.sub_corpora import ALL, Rows, SearchedCorpora, SubCorpora, SubCorpus
from runner.pipeline.corpus.text_passages import (
    QueryPassages,
    build_query_terms,
)
from runner.pipeline.search.checked_hits import validate_hits
from runner.pipeline.search.nested_arms import arms_and_candidates
from runner.pipeline.search.searching import Search


def dimension_problems(retriever: Retriever) -> list[str]:
    """Return error messages for indexes with more dimensions than the vectors, if the embedder knows its dimensions."""
    problems = []
    for arm in arms_and_candidates(retriever):
        if isinstance(arm, DenseArm | EncodedDenseArm) and isinstance(arm.vector_index, ShortensVectors):
            maker, n_dimensions = (
                arm.embedder if isinstance(arm, DenseArm) else arm.encoder,
                arm.vector_index.dimensions,
            )
            limit = maker.max_dimensions() if n_dimensions and isinstance(maker, KnowsDimensions) else None
            if n_dimensions and limit and n_dimensions > limit:
                problems.append(
                    f"vector_index.dimensions: got {n_dimensions}, expected at most {limit}, the dimensions of the "
                    "embedder's vectors, or null for all"
                )
    return problems


class QueryVectors(
    Stage[Vectors], kind="query_vectors", display_name="vectors of queries", version=1, work=Work.PER_QUERY
):
    """float32[n_queries, d], the vectors of the queries."""

    codec = SinglePart("vectors")

    embedder: Embedder
    queries: QueryPassages
    state: Stage[EmbedderState]

    def server_requests(self, run: Run) -> ServerRequests | None:
        """Return the requests for all queries."""
        if not isinstance(self.embedder, AsksInBatches):
            return None
        texts = texts_to_request(self.embedder, self.queries.read(run).texts, run.received, are_queries=True)
        return embedding_requests(self.embedder, [texts], getattr(self.embedder, "query_prefix", ""))

    def make(self, run: Run) -> Vectors:
        queries = self.queries.read(run)
        vectors = self.embedder.embed_queries(queries, run.read(self.state))
        return validate_vectors(vectors, len(queries), self.embedder, texts=EmbeddedTexts.QUERIES)


class BuiltVectorIndex(Stage[Parts], kind="vector_index", version=1):
    """The index over the chunks' vectors, one for each sub-corpus."""

    codec = NamedArraysCodec()

    index: VectorIndex
    vectors: Stage[Vectors]
    corpora: SubCorpora

    def make(self, run: Run) -> Parts:
        vectors = run.read(self.vectors)
        parts = self.corpora.ranges(run)
        built = (self.index.build(vectors[part.chunks], self._place(run, part)) for part in parts)
        return sub_corpora.join([validate_arrays(arrays, self.index) for arrays in built])

    def lost(self, parts: Parts) -> list[str]:
        """Return the parts of the index that are lost, such as collections of a server.

        The search reports an unreachable server.
        """
        if not isinstance(self.index, ExternalIndex):
            return []
        try:
            return [lost for part in sub_corpora.split_index(parts) for lost in self.index.lost(part)]
        except ComponentError:
            return []

    def _place(self, run: Run, part: SubCorpus) -> Path:
        """Create a folder for the files of one index. Its name is unique to the index.

        Its parent is unique to this process, because another process may build the same index.
        """
        name = self.key if part.number is None else f"{self.key}-{part.number}"
        folder = run.workspace / uuid.uuid4().hex / name
        folder.mkdir(parents=True)
        return folder


class DenseHits(Search, kind="dense_hits", version=2, work=Work.PER_QUERY):
    """The nearest chunks of every query."""

    codec = Columns(Hits)

    index: VectorIndex
    built: BuiltVectorIndex
    vectors: Stage[Vectors]
    query_vectors: Stage[Vectors]
    corpora: SearchedCorpora

    def make(self, run: Run) -> Hits:
        return self.search(run, self.depth, ALL)

    def search(self, run: Run, depth: int, query_rows: Rows) -> Hits:
        """Return the chunks that are nearest to the chosen queries."""
        built, vectors, queries = run.read(self.built), run.read(self.vectors), run.read(self.query_vectors)[query_rows]
        require_equal_dimensions(vectors, queries, getattr(self.query_vectors, "embedder", self.index))
        parts = sub_corpora.select_query_rows(self.corpora.ranges(run), query_rows)
        part_hits = [
            self._search_part(sub_corpora.arrays_of_part(built, p), vectors[p.chunks], queries[p.queries], depth)
            for p in parts
        ]
        return sub_corpora.merge(part_hits, parts, len(queries))

    def _search_part(self, built: Parts, vectors: Vectors, queries: Vectors, depth: int) -> Hits:
        hits = self.index.search(built, vectors, queries, depth)
        return validate_hits(hits, len(queries), len(vectors), self.index)


def require_equal_dimensions(vectors: Vectors, queries: Vectors, embedder: object) -> None:
    """Raise ComponentError, which names the class of the embedder, for vectors of different lengths."""
    if vectors.shape[1] != queries.shape[1] and len(vectors) and len(queries):
        sizes = f"vectors of queries have {queries.shape[1]} dimensions, vectors of chunks {vectors.shape[1]}"
        raise contract_error(embedder, sizes)


def build_dense_search(
    arm: DenseArm, data: DatasetStages, chunks: Stage[Spans], queries: Stage[Queries], depth: int
) -> DenseHits:
    """Return the stage that searches by embedding for an arm."""
    embedder = arm.embedder
    vectors = embed_all_blocks(embedder, data, chunks)
    passages = QueryPassages(queries, build_query_terms(embedder.tokenizer, queries, data))
    corpora = sub_corpora.split_corpus(data, chunks)
    return DenseHits(
        depth,
        arm.vector_index,
        BuiltVectorIndex(arm.vector_index.as_built, vectors, corpora),
        vectors,
        QueryVectors(embedder, passages, vectors.state),
        sub_corpora.add_query_rows(corpora, queries, data.samples),
    )
