"""Stages that cut the corpus into chunks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from components.fields import runtime_only
from components.protocols import Chunker, DescribingChunker, Tokenizer
from components.records import Documents, Segments, Spans, SpanTexts
from components.text.corpus_tables import segment
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns, SinglePart
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.checked_spans import text_lengths, validate_spans
from runner.pipeline.corpus.corpus_blocks import (
    ChunkBlock,
    ChunksOfBlock,
    DocumentBlock,
    DocumentsBelow,
    build_document_blocks,
    join_block_spans,
)
from runner.pipeline.corpus.loaded_data import DatasetStages

_N_DOCUMENTS = 200
_MAX_CHARACTERS = 10_000
"""At most this many documents, and this many characters of each, are cut for an estimate."""
_STANDARD_ERRORS = 3


@dataclass(frozen=True)
class ChunkExcerpt:
    """Texts of chunks for a plan that cannot wait for all chunks.

    All chunks are estimated to be at most `times` as many. 1.0 means that no chunk is missing.
    """

    texts: Sequence[str]
    times: float


def some_chunks(run: Run, documents: Documents, chunks: Stage[Spans]) -> ChunkExcerpt:
    """Return the chunks of a corpus or of a block if they are cached, or else chunks of some of its documents."""
    if isinstance(chunks, BlockChunks | Chunks) and not run.is_cached(chunks):
        return _cut_some(chunks.chunker, documents)
    return ChunkExcerpt(SpanTexts(documents.texts, run.read(chunks)), 1.0)


def _cut_some(chunker: Chunker, corpus: Documents) -> ChunkExcerpt:
    """Cut documents spread evenly over a corpus."""
    rows = slice(None, None, max(-(-len(corpus) // _N_DOCUMENTS), 1))
    texts = [text[:_MAX_CHARACTERS] for text in corpus.texts[rows]]
    facts = corpus.metadata[rows] if corpus.metadata else ()
    documents = Documents(corpus.ids[rows], corpus.titles[rows], texts, facts)
    spans = chunker.chunk(documents, segment(texts, chunker.length_tokenizer))
    lengths = np.array([len(text) for text in texts])
    n_chunks = np.bincount(spans.document, minlength=len(texts))
    times = sum(map(len, corpus.texts)) / max(lengths.sum(), 1)
    # A ratio estimate: the number of chunks is proportional to characters, except for the rest of each document.
    if times > 1 and len(spans):
        off = n_chunks - lengths * (len(spans) / lengths.sum())
        times *= 1 + _STANDARD_ERRORS * off.std() * len(texts) ** 0.5 / len(spans)
    return ChunkExcerpt(SpanTexts(texts, spans), times)


class BlockSegments(Stage[Segments], kind="segments", version=1):
    """Ends of tokens and sentences in a block's documents. Without a tokenizer, a token is a character."""

    codec = Columns(Segments)

    tokenizer: Tokenizer | None
    documents: DocumentBlock

    def make(self, run: Run) -> Segments:
        """Split every text once, for all chunkers."""
        return segment(self.documents.read(run).texts, self.tokenizer)


class BlockChunks(Stage[Spans], kind="block_chunks", display_name="chunks of a block", version=1):
    """The chunks of a block, as spans of its documents."""

    codec = Columns(Spans)

    chunker: Chunker
    documents: DocumentBlock
    segments: BlockSegments

    def make(self, run: Run) -> Spans:
        """Cut along the segments. Raises ComponentError for chunks that break the contract."""
        documents = self.documents.read(run)
        spans = self.chunker.chunk(documents, run.read(self.segments))
        return validate_spans(spans, text_lengths(documents.texts), self.chunker)


class Chunks(Stage[Spans], kind="chunks", version=2):
    """The chunks, as spans of the corpus."""

    codec = Columns(Spans)

    chunker: Chunker
    corpus: Stage[Documents]
    blocks: tuple[ChunkBlock, ...] = runtime_only((), "a document is cut in the same way in any block")

    def make(self, run: Run) -> Spans:
        """Join the chunks of all blocks."""
        return join_block_spans(run, self.blocks)


def cut_in_blocks(chunker: Chunker, data: DatasetStages) -> Chunks:
    """Return the chunks of a data set's corpus, which are cut block by block."""
    return Chunks(chunker, data.corpus, tuple(_cut(chunker, block) for block in build_document_blocks(data)))


def _cut(chunker: Chunker, documents: DocumentBlock) -> ChunkBlock:
    segments = BlockSegments(chunker.length_tokenizer, documents)
    return ChunkBlock(documents, BlockChunks(chunker, documents, segments))


def chunk_blocks(chunks: Stage[Spans], blocks: Sequence[DocumentBlock]) -> tuple[ChunkBlock, ...]:
    """Return the chunks of blocks of their corpus, as spans of the blocks."""
    return tuple(_cut_block(chunks, block) for block in blocks)


def _cut_block(chunks: Stage[Spans], block: DocumentBlock) -> ChunkBlock:
    if isinstance(chunks, Chunks) and block in (other.documents for other in chunks.blocks):
        return _cut(chunks.chunker, block)
    is_all = isinstance(block, DocumentsBelow) and not block.prefix
    return ChunkBlock(block, chunks if is_all else ChunksOfBlock(chunks, block))


class ChunkFacts(Stage[Sequence[Mapping[str, str]]], kind="chunk_facts", version=1):
    """Metadata that a chunker knows about its chunks, such as their sections and pages."""

    codec = SinglePart("facts")

    chunker: DescribingChunker
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def make(self, run: Run) -> Sequence[Mapping[str, str]]:
        chunks = run.read(self.chunks)
        facts = list(self.chunker.facts(run.read(self.corpus), chunks))
        if len(facts) != len(chunks) or not all(isinstance(metadata, Mapping) for metadata in facts):
            problem = f"got {len(facts)} facts for {len(chunks)} chunks, expected a mapping for each, {{}} for none"
            raise contract_error(self.chunker, problem)
        return facts


def find_chunk_facts(chunks: Stage[Spans]) -> tuple[ChunkFacts, ...]:
    """Return the stage of the known facts about chunks, if any."""
    if isinstance(chunks, Chunks) and isinstance(chunks.chunker, DescribingChunker):
        return (ChunkFacts(chunks.chunker, chunks.corpus, chunks),)
    return ()
