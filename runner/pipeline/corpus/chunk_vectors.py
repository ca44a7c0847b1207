"""Vectors of the chunks of a corpus: fit the embedder, embed the chunks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.protocols import (
    AsksInBatches,
    Embedder,
    EmbedderState,
    PretrainedEmbedder,
    SlowEmbedder,
)
from components.records import Passages, Spans
from runner.engine.codecs import Codec, Named, SinglePart
from runner.engine.identity import key_of
from runner.engine.source_code import require_equal_files
from runner.engine.stage import ServerRequests, Stage, StageGroup
from runner.engine.stage_run import Run
from runner.engine.store.part_files import read_part
from runner.engine.store.stored_blocks import has_block, joined_blocks, read_block, scattered_blocks, write_block
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.checked_arrays import checked_vectors
from runner.pipeline.corpus.chunk_stages import chunk_blocks
from runner.pipeline.corpus.corpus_blocks import DocumentBlock, document_blocks, positions_of
from runner.pipeline.corpus.loaded_data import Data
from runner.pipeline.corpus.server_requests import not_received, to_embed
from runner.pipeline.corpus.text_passages import BlockPassages, ChunkPassages, DocumentPassages, corpus_terms

Vectors = NDArray[np.float32]

BLOCK_CHUNKS = 32_768
"""Chunks embedded at a time: what a kill can cost, and what must fit into memory. Slow embedders name fewer."""


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
    codec: ClassVar[Codec[Vectors]] = SinglePart("vectors")

    embedder: Embedder
    chunks: ChunkPassages | BlockPassages
    state: FittedEmbedder
    joined_by: str = runtime_only("", "the key of the vectors of the corpus: other blocks of it share what came")

    @property
    def shared_received(self) -> tuple[str, str] | None:
        """With all blocks of all corpora: a corpus that is parted otherwise asks for no text twice."""
        return (_received_of(self.state), self.joined_by) if self.joined_by else None

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
                if not self.joined_by:
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
    codec: ClassVar[Codec[Vectors]] = SinglePart("vectors")

    embedder: Embedder
    chunks: ChunkPassages
    state: FittedEmbedder
    blocks: tuple[VectorBlock, ...] = runtime_only((), "texts are batched differently: changes rounding, about 1e-7")

    @property
    def shared_received(self) -> tuple[str, str]:
        """What came for the blocks."""
        return _received_of(self.state), self.key

    def make(self, run: Run) -> Vectors:
        """Writes them into one file, in the order of the chunks."""
        vectors = self._joined(run)
        run.received.drop()  # the blocks are kept, and have them all
        return vectors

    def _joined(self, run: Run) -> Vectors:
        if len(self.blocks) == 1:
            return run.read(self.blocks[0].vectors)
        spans = run.read(self.chunks.chunks)
        if not len(spans):
            return run.read(self.blocks[0].vectors)
        parts = ((positions_of(spans, own.documents.rows(run)), run.read(own.vectors)) for own in self.blocks)
        filled = ((rows, vectors) for rows, vectors in parts if len(rows))
        return scattered_blocks(run.workspace / "vectors.npy", len(spans), filled)


def _received_of(state: FittedEmbedder) -> str:
    """The place of vectors that came from a server: of the same model and parameters, of whichever corpus."""
    return key_of(["received", state.key])


def chunk_vectors(embedder: Embedder, data: Data, chunks: Stage[Spans]) -> ChunkVectors | JoinedVectors:
    """The vectors of the chunks: the same for all who read them."""
    if not isinstance(embedder, PretrainedEmbedder):
        terms = corpus_terms(embedder.tokenizer, data)
        state = FittedEmbedder(embedder, DocumentPassages(data.corpus, terms))
        return ChunkVectors(embedder, ChunkPassages(data.corpus, chunks, terms), state)
    state = FittedEmbedder(embedder, NoDocuments())
    joined = JoinedVectors(embedder, ChunkPassages(data.corpus, chunks), state)
    blocks = tuple(
        VectorBlock(own.documents, ChunkVectors(embedder, BlockPassages(own.documents, own.spans), state, joined.key))
        for own in chunk_blocks(chunks, document_blocks(data))
    )
    return replace(joined, blocks=blocks)
