"""The search by embedding: fit, embed, index, search."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.protocols import (
    AsksInBatches,
    DenseArm,
    Embedder,
    EmbedderState,
    EncodedDenseArm,
    KeptElsewhere,
    KnowsDimensions,
    PretrainedEmbedder,
    Retriever,
    ShortensVectors,
    SlowEmbedder,
    VectorIndex,
)
from components.records import Hits, Passages, Queries, Spans
from runner.engine.broken_contracts import broken_contract
from runner.engine.codecs import Codec, Columns, Named, Parts, Single
from runner.engine.run import Run
from runner.engine.source_code import require_equal_files
from runner.engine.stage import ServerRequests, Stage, StageGroup, Work
from runner.engine.store.blocks import has_block, joined_blocks, read_block, scattered_blocks, write_block
from runner.engine.store.files import read_part
from runner.pipeline import sub_corpora
from runner.pipeline.blocks import DocumentBlock, document_blocks, positions_of
from runner.pipeline.checked_arrays import checked_vectors
from runner.pipeline.checked_hits import checked_hits
from runner.pipeline.chunking import chunk_blocks
from runner.pipeline.data import Data
from runner.pipeline.passages import (
    BlockPassages,
    ChunkPassages,
    DocumentPassages,
    QueryPassages,
    corpus_terms,
    query_terms,
)
from runner.pipeline.searching import Search
from runner.pipeline.server_requests import not_received, to_embed
from runner.pipeline.sub_corpora import ALL, Rows, SearchedCorpora, SubCorpora, SubCorpus

Vectors = NDArray[np.float32]

BLOCK_CHUNKS = 32_768
"""Chunks embedded at a time: what a kill can cost, and what must fit into memory. Slow embedders name fewer."""


def dimension_mistakes(retriever: Retriever) -> list[str]:
    """Indexes of more dimensions than the vectors will have, as far as that is known before any is made."""
    mistakes = []
    for arm in retriever.arms:
        if isinstance(arm, DenseArm | EncodedDenseArm) and isinstance(arm.vector_index, ShortensVectors):
            maker, wanted = arm.embedder if isinstance(arm, DenseArm) else arm.encoder, arm.vector_index.dimensions
            known = maker.most_dimensions() if wanted and isinstance(maker, KnowsDimensions) else None
            if wanted and known and wanted > known:
                mistakes.append(
                    f"vector_index.dimensions: got {wanted}, but the embedder's vectors have {known}; wanted at most "
                    "as many, or null for all"
                )
    return mistakes


@dataclass(frozen=True)
class NoDocuments(StageGroup):
    """For an embedder that learns nothing of a corpus: its vectors are the same in any."""

    def read(self, run: Run) -> Passages:
        """None."""
        return Passages(())


@dataclass(frozen=True, eq=False)
class FittedEmbedder(Stage[EmbedderState]):
    """What the embedder learns from the corpus; nothing for a pretrained one."""

    kind: ClassVar[str] = "embedder_state"
    in_words: ClassVar[str] = "fitting the embedder"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[EmbedderState]] = Named()

    embedder: Embedder
    documents: DocumentPassages | NoDocuments

    def server_requests(self, run: Run) -> ServerRequests | None:
        """One, of a word."""
        return to_embed(self.embedder, [["a"]], None) if isinstance(self.embedder, AsksInBatches) else None

    def make(self, run: Run) -> EmbedderState:
        """Fits the embedder."""
        return self.embedder.fit(self.documents.read(run))


@dataclass(frozen=True, eq=False)
class ChunkVectors(Stage[Vectors]):
    """float32[n_chunks, d], of the chunks of a corpus or of a block of it."""

    kind: ClassVar[str] = "vectors"
    in_words: ClassVar[str] = "vectors of chunks"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Vectors]] = Single("vectors")

    embedder: Embedder
    chunks: ChunkPassages | BlockPassages
    state: FittedEmbedder

    def make(self, run: Run) -> Vectors:
        """Embeds block by block: a run that was broken off goes on behind the last whole block."""
        chunks, state = self.chunks.read(run), run.read(self.state)
        if len(chunks) <= self._block_size:
            return checked_vectors(self.embedder.embed_chunks(chunks, state), len(chunks), self.embedder)
        blocks = []
        for rows, name in self._blocks(len(chunks)):
            block = read_block(run.workspace, name)
            if block is None:
                made = self.embedder.embed_chunks(sub_corpora.rows(chunks, rows), state)
                made = checked_vectors(made, rows.stop - rows.start, self.embedder)
                require_equal_files(type(self.embedder))
                path = write_block(run.workspace, name, made)
                run.received.drop()  # the block has them all
                block = read_part(path)  # from the disk: the memory is for the next one
            blocks.append(block)
            run.report(rows.stop, len(chunks))
        return joined_blocks(run.workspace / "vectors.npy", blocks)

    def server_requests(self, run: Run) -> ServerRequests | None:
        """For the blocks that are not kept, or for all chunks as far as some of them tell."""
        if not isinstance(self.embedder, AsksInBatches):
            return None
        some, prefix = self.chunks.some(run), getattr(self.embedder, "passage_prefix", "")
        if some.times > 1:
            return to_embed(self.embedder, [some.texts], prefix, some.times)
        missing = (rows for rows, name in self._blocks(len(some.texts)) if not has_block(run.workspace, name))
        blocks = (not_received(self.embedder, some.texts[rows], run.received, are_queries=False) for rows in missing)
        return to_embed(self.embedder, blocks, prefix)

    @property
    def _block_size(self) -> int:
        return self.embedder.n_chunks_per_block if isinstance(self.embedder, SlowEmbedder) else BLOCK_CHUNKS

    def _blocks(self, n_chunks: int) -> Iterator[tuple[slice, str]]:
        """The rows of each, and its name: other blocks have other names."""
        for first in range(0, n_chunks, self._block_size):
            last = min(first + self._block_size, n_chunks)
            yield slice(first, last), f"{first}-{last}"


@dataclass(frozen=True)
class VectorBlock(StageGroup):
    """The vectors of a block's chunks."""

    documents: DocumentBlock
    vectors: ChunkVectors


@dataclass(frozen=True, eq=False)
class JoinedVectors(Stage[Vectors]):
    """float32[n_chunks, d], put together of those of blocks."""

    kind: ClassVar[str] = "joined_vectors"
    in_words: ClassVar[str] = "vectors of blocks together"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Vectors]] = Single("vectors")

    embedder: Embedder
    chunks: ChunkPassages
    state: FittedEmbedder
    blocks: tuple[VectorBlock, ...] = runtime_only((), "texts are batched differently: changes rounding, about 1e-7")

    def make(self, run: Run) -> Vectors:
        """Writes them into one file, in the order of the chunks."""
        if len(self.blocks) == 1:
            return run.read(self.blocks[0].vectors)
        spans = run.read(self.chunks.chunks)
        if not len(spans):
            return run.read(self.blocks[0].vectors)
        parts = ((positions_of(spans, own.documents.rows(run)), run.read(own.vectors)) for own in self.blocks)
        filled = ((rows, vectors) for rows, vectors in parts if len(rows))
        return scattered_blocks(run.workspace / "vectors.npy", len(spans), filled)


@dataclass(frozen=True, eq=False)
class QueryVectors(Stage[Vectors]):
    """float32[n_queries, d]."""

    kind: ClassVar[str] = "query_vectors"
    in_words: ClassVar[str] = "vectors of queries"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Vectors]] = Single("vectors")

    embedder: Embedder
    queries: QueryPassages
    state: Stage[EmbedderState]

    def server_requests(self, run: Run) -> ServerRequests | None:
        """For all queries."""
        if not isinstance(self.embedder, AsksInBatches):
            return None
        texts = not_received(self.embedder, self.queries.read(run).texts, run.received, are_queries=True)
        return to_embed(self.embedder, [texts], getattr(self.embedder, "query_prefix", ""))

    def make(self, run: Run) -> Vectors:
        """Embeds all queries."""
        queries = self.queries.read(run)
        vectors = self.embedder.embed_queries(queries, run.read(self.state))
        return checked_vectors(vectors, len(queries), self.embedder)


@dataclass(frozen=True, eq=False)
class BuiltVectorIndex(Stage[Parts]):
    """The index over the chunks' vectors, one for each sub-corpus."""

    kind: ClassVar[str] = "vector_index"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Parts]] = Named()

    index: VectorIndex
    vectors: Stage[Vectors]
    corpora: SubCorpora

    def make(self, run: Run) -> Parts:
        """Builds it."""
        vectors = run.read(self.vectors)
        parts = self.corpora.ranges(run)
        return sub_corpora.join([self.index.build(vectors[part.chunks], self._place(run, part)) for part in parts])

    def lost(self, parts: Parts) -> list[str]:
        """Collections of a server, say. One that does not answer is told by the search, which needs it."""
        if not isinstance(self.index, KeptElsewhere):
            return []
        try:
            return [lost for own in sub_corpora.split(parts) for lost in self.index.lost(own)]
        except ComponentError:
            return []

    def _place(self, run: Run, part: SubCorpus) -> Path:
        """A folder for what one index writes, with a name that no other index has. It is in one that no other process
        has, which may be building the same.
        """
        name = self.key if part.number is None else f"{self.key}-{part.number}"
        place = run.workspace / uuid.uuid4().hex / name
        place.mkdir(parents=True)
        return place


@dataclass(frozen=True, eq=False)
class DenseHits(Search):
    """The nearest chunks of every query."""

    kind: ClassVar[str] = "dense_hits"
    version: ClassVar[int] = 2
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Hits]] = Columns(Hits)

    index: VectorIndex
    depth: int
    built: BuiltVectorIndex
    vectors: Stage[Vectors]
    query_vectors: Stage[Vectors]
    corpora: SearchedCorpora

    def make(self, run: Run) -> Hits:
        """Searches."""
        return self.search(run, self.depth, ALL)

    def search(self, run: Run, depth: int, chosen: Rows) -> Hits:
        """The chunks that are nearest to the chosen ones among the queries."""
        built, vectors, queries = run.read(self.built), run.read(self.vectors), run.read(self.query_vectors)[chosen]
        if vectors.shape[1] != queries.shape[1] and len(vectors) and len(queries):
            embedder = getattr(self.query_vectors, "embedder", self.index)
            sizes = f"vectors of queries have {queries.shape[1]} dimensions, those of chunks {vectors.shape[1]}"
            raise broken_contract(embedder, sizes)
        parts = sub_corpora.among(self.corpora.ranges(run), chosen)
        found = [self._found(sub_corpora.take(built, p), vectors[p.chunks], queries[p.queries], depth) for p in parts]
        return sub_corpora.merge(found, parts, len(queries))

    def _found(self, built: Parts, vectors: Vectors, queries: Vectors, depth: int) -> Hits:
        hits = self.index.search(built, vectors, queries, depth)
        return checked_hits(hits, len(queries), len(vectors), self.index)


def chunk_vectors(embedder: Embedder, data: Data, chunks: Stage[Spans]) -> ChunkVectors | JoinedVectors:
    """The vectors of the chunks: the same for all who read them."""
    if not isinstance(embedder, PretrainedEmbedder):
        terms = corpus_terms(embedder.tokenizer, data)
        state = FittedEmbedder(embedder, DocumentPassages(data.corpus, terms))
        return ChunkVectors(embedder, ChunkPassages(data.corpus, chunks, terms), state)
    state = FittedEmbedder(embedder, NoDocuments())
    blocks = tuple(
        VectorBlock(own.documents, ChunkVectors(embedder, BlockPassages(own.documents, own.spans), state))
        for own in chunk_blocks(chunks, document_blocks(data))
    )
    return JoinedVectors(embedder, ChunkPassages(data.corpus, chunks), state, blocks)


def dense_hits(arm: DenseArm, data: Data, chunks: Stage[Spans], queries: Stage[Queries], depth: int) -> DenseHits:
    """The ranking of an arm that searches by embedding."""
    embedder = arm.embedder
    vectors = chunk_vectors(embedder, data, chunks)
    passages = QueryPassages(queries, query_terms(embedder.tokenizer, queries, data))
    corpora = sub_corpora.sub_corpora(data, chunks)
    return DenseHits(
        arm.vector_index,
        depth,
        BuiltVectorIndex(arm.vector_index.as_built, vectors, corpora),
        vectors,
        QueryVectors(embedder, passages, vectors.state),
        sub_corpora.searched(corpora, queries, data.samples),
    )
