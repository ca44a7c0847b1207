"""Stages that fit the embedder and embed the chunks of a corpus."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.protocols import (
    AsksInBatches,
    DocumentEmbedder,
    Embedder,
    EmbedderState,
    PretrainedEmbedder,
    SlowEmbedder,
)
from components.records import Passages, Spans
from runner.engine.codecs import NamedArraysCodec, SinglePart
from runner.engine.identity import hash_description
from runner.engine.source_code import require_equal_files
from runner.engine.stage import ServerRequests, Stage, StageGroup
from runner.engine.stage_run import Run
from runner.engine.store.part_files import read_part
from runner.engine.store.stored_blocks import has_block, join_blocks, read_block, scatter_blocks, write_block
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.checked_arrays import validate_arrays, validate_vectors
from runner.pipeline.corpus.chunk_stages import chunk_blocks
from runner.pipeline.corpus.corpus_blocks import DocumentBlock, build_document_blocks, find_positions
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.server_requests import embedding_requests, texts_to_request
from runner.pipeline.corpus.text_passages import BlockPassages, ChunkPassages, DocumentPassages, build_corpus_terms

Vectors = NDArray[np.float32]

BLOCK_CHUNKS = 32_768
"""Chunks embedded per block. A killed process loses at most one block, and one must fit into memory.

Slow embedders use smaller blocks.
"""


@dataclass(frozen=True)
class NoDocuments(StageGroup):
    """Input of an embedder that learns nothing from a corpus. Its vectors are the same in any corpus."""

    def read(self, run: Run) -> Passages:
        return Passages(())


class FittedEmbedder(Stage[EmbedderState], kind="embedder_state", display_name="fitting the embedder", version=1):
    """The state that the embedder learns from the corpus; empty for a pretrained one."""

    codec = NamedArraysCodec()

    embedder: Embedder
    documents: DocumentPassages | NoDocuments

    def server_requests(self, run: Run) -> ServerRequests | None:
        """Return the single request that fitting sends, which has one word."""
        return embedding_requests(self.embedder, [["a"]], None) if isinstance(self.embedder, AsksInBatches) else None

    def make(self, run: Run) -> EmbedderState:
        return validate_arrays(self.embedder.fit(self.documents.read(run)), self.embedder)


class ChunkVectors(Stage[Vectors], kind="vectors", display_name="vectors of chunks", version=1):
    """float32[n_chunks, d], of the chunks of a corpus or of a block of it."""

    codec = SinglePart("vectors")

    embedder: Embedder
    chunks: ChunkPassages | BlockPassages
    state: FittedEmbedder
    joined_by: str = runtime_only("", "the key of the corpus' vectors: its blocks share received vectors")

    @property
    def shared_received(self) -> tuple[str, str] | None:
        """Place and key of vectors received for all blocks of all corpora.

        So a corpus that is divided differently requests no text twice.
        """
        return (_received_key(self.state), self.joined_by) if self.joined_by else None

    def make(self, run: Run) -> Vectors:
        """Embed block by block. An interrupted run resumes after the last complete block."""
        chunks, state = self.chunks.read(run), run.read(self.state)
        if len(chunks) <= block_size(self.embedder):
            return self._embed(run, chunks, slice(0, len(chunks)), state)
        return embed_in_blocks(
            run,
            self.embedder,
            list(name_blocks(self.embedder, len(chunks), self._chunk_documents(run))),
            lambda rows: self._embed(run, chunks, rows, state),
            shares_received=bool(self.joined_by),
        )

    def _embed(self, run: Run, chunks: Passages, rows: slice, state: EmbedderState) -> Vectors:
        """Embed some of the chunks, or read them in their documents."""
        if reads_documents(self.embedder):
            spans = run.read(self.chunks.chunks)
            selected = Spans(spans.document[rows], spans.start[rows], spans.end[rows])
            vectors = self.embedder.embed_in_documents(self.chunks.read_documents(run).texts, selected)
        else:
            some = chunks if rows == slice(0, len(chunks)) else sub_corpora.rows(chunks, rows)
            vectors = self.embedder.embed_chunks(some, state)
        return validate_vectors(vectors, rows.stop - rows.start, self.embedder)

    def _chunk_documents(self, run: Run) -> NDArray[np.int32] | None:
        return run.read(self.chunks.chunks).document if reads_documents(self.embedder) else None

    def server_requests(self, run: Run) -> ServerRequests | None:
        """Return the requests for blocks that are not stored. They may be estimated from some of the chunks."""
        if not isinstance(self.embedder, AsksInBatches):
            return None
        some, prefix = self.chunks.some(run), getattr(self.embedder, "passage_prefix", "")
        if some.times > 1:
            return embedding_requests(self.embedder, [some.texts], prefix, some.times)
        missing = (
            rows for rows, name in name_blocks(self.embedder, len(some.texts)) if not has_block(run.workspace, name)
        )
        blocks = (
            texts_to_request(self.embedder, some.texts[rows], run.received, are_queries=False) for rows in missing
        )
        return embedding_requests(self.embedder, blocks, prefix)


def embed_in_blocks(
    run: Run,
    embedder: Embedder,
    blocks: Sequence[tuple[slice, str]],
    embed: Callable[[slice], Vectors],
    *,
    shares_received: bool = False,
) -> Vectors:
    """Return the vectors of all blocks. Each block is stored under its name when it is complete.

    Vectors received from a server are dropped with their block, unless other stages share them.
    """
    vector_blocks = []
    for rows, name in blocks:
        block = read_block(run.workspace, name)
        if block is None:
            vectors = embed(rows)
            require_equal_files(type(embedder))
            path = write_block(run.workspace, name, vectors)
            if not shares_received:
                run.received.drop()  # the written block contains all received vectors
            block = read_part(path)  # a block on disk frees the memory for the next one
        vector_blocks.append(block)
        run.report(rows.stop, blocks[-1][0].stop)
    return join_blocks(run.workspace / "vectors.npy", vector_blocks)


def name_blocks(
    embedder: Embedder, n_texts: int, document: NDArray[np.int32] | None = None
) -> Iterator[tuple[slice, str]]:
    """Yield the rows and the name of each block. The name is unique to the rows.

    With the `document` of each chunk, a block ends with a document, so that each is read once.
    """
    first = 0
    while first < n_texts:
        last = min(first + block_size(embedder), n_texts)
        if document is not None:
            last = int(np.searchsorted(document, document[last - 1], side="right"))
        yield slice(first, last), f"{first}-{last}"
        first = last


def block_size(embedder: Embedder) -> int:
    """Return the number of texts that are embedded per block."""
    return embedder.n_chunks_per_block if isinstance(embedder, SlowEmbedder) else BLOCK_CHUNKS


def reads_documents(embedder: object) -> TypeGuard[DocumentEmbedder]:
    """Return True for an embedder that reads chunks in their documents."""
    return isinstance(embedder, DocumentEmbedder) and embedder.reads_documents


@dataclass(frozen=True)
class VectorBlock(StageGroup):
    """The vectors of a block's chunks."""

    documents: DocumentBlock
    vectors: ChunkVectors


class JoinedVectors(Stage[Vectors], kind="joined_vectors", display_name="joined vectors of blocks", version=1):
    """float32[n_chunks, d], joined from the vectors of blocks."""

    codec = SinglePart("vectors")

    embedder: Embedder
    chunks: ChunkPassages
    state: FittedEmbedder
    blocks: tuple[VectorBlock, ...] = runtime_only((), "batching differs, which changes rounding by about 1e-7")

    @property
    def shared_received(self) -> tuple[str, str]:
        """Place and key of vectors received for the blocks."""
        return _received_key(self.state), self.key

    def make(self, run: Run) -> Vectors:
        """Write the vectors of all blocks into one file, in the order of the chunks."""
        vectors = self._join_blocks(run)
        run.received.drop()  # the stored blocks contain all received vectors
        return vectors

    def _join_blocks(self, run: Run) -> Vectors:
        if len(self.blocks) == 1:
            return run.read(self.blocks[0].vectors)
        spans = run.read(self.chunks.chunks)
        if not len(spans):
            return run.read(self.blocks[0].vectors)
        parts = ((find_positions(spans, block.documents.rows(run)), run.read(block.vectors)) for block in self.blocks)
        filled = ((rows, vectors) for rows, vectors in parts if len(rows))
        return scatter_blocks(run.workspace / "vectors.npy", len(spans), filled)


def _received_key(state: FittedEmbedder) -> str:
    """Return the key of the folder of vectors received for the same model and parameters, for any corpus."""
    return hash_description(["received", state.key])


def build_fitted_embedder(embedder: Embedder, data: DatasetStages) -> FittedEmbedder:
    """Return the stage that fits the embedder to the corpus."""
    if isinstance(embedder, PretrainedEmbedder):
        return FittedEmbedder(embedder, NoDocuments())
    return FittedEmbedder(embedder, DocumentPassages(data.corpus, build_corpus_terms(embedder.tokenizer, data)))


def embed_all_blocks(embedder: Embedder, data: DatasetStages, chunks: Stage[Spans]) -> ChunkVectors | JoinedVectors:
    """Return the stage of the chunks' vectors, which all stages that read them share."""
    state = build_fitted_embedder(embedder, data)
    if not isinstance(embedder, PretrainedEmbedder):
        terms = build_corpus_terms(embedder.tokenizer, data)
        return ChunkVectors(embedder, ChunkPassages(data.corpus, chunks, terms), state)
    joined = JoinedVectors(embedder, ChunkPassages(data.corpus, chunks), state)
    blocks = tuple(
        VectorBlock(
            block.documents, ChunkVectors(embedder, BlockPassages(block.documents, block.spans), state, joined.key)
        )
        for block in chunk_blocks(chunks, build_document_blocks(data))
    )
    return replace(joined, blocks=blocks)
