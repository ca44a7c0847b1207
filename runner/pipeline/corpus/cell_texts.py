"""Connects the stages of a cell's texts: documents, refined, cut into chunks, with headers."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from components.datasets.parsers.built_in import BuiltInReaders
from components.protocols import (
    AnyChunker,
    Dataset,
    Embedder,
    Header,
    Parser,
    PickingArm,
    Refiner,
    VectorIndex,
    WordTokenizer,
)
from components.records import Documents, Spans
from runner.engine.stage import Stage
from runner.pipeline.corpus.chunk_headers import SearchedTexts, add_headers
from runner.pipeline.corpus.cutting import ChunkedCorpus, chunk_corpus
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.refined_corpora import Refined, build_refined_corpora

if TYPE_CHECKING:
    from runner.pipeline.cell import Cell


@dataclass(frozen=True, kw_only=True)
class CorpusComponents:
    """Components that produce the texts of a cell.

    `parser`, `tokenizer`, `embedder` and `vector_index` are chosen here, and used by the components that refer to them.
    """

    dataset: Dataset
    refiner: Refiner
    chunk: AnyChunker
    header: Header
    tokenizer: WordTokenizer
    embedder: Embedder
    vector_index: VectorIndex
    parser: Parser = BuiltInReaders()


@dataclass(frozen=True)
class CorpusStages:
    """The documents of a cell and their chunks.

    `data` has the corpus after the last of the `refined` corpora, which start from the `original` corpus. `searched`
    are the chunks that are searched, with their headers.
    """

    original: Stage[Documents]
    refined: tuple[Refined, ...]
    data: DatasetStages
    chunked: ChunkedCorpus
    searched: SearchedTexts

    @property
    def corpus(self) -> Stage[Documents]:
        """The corpus that is searched and read."""
        return self.data.corpus

    @property
    def chunks(self) -> Stage[Spans]:
        """The chunks that are read."""
        return self.chunked.read

    @property
    def child_and_parent_chunks(self) -> tuple[Stage[Spans], ...]:
        """Small chunks, and the larger chunks that are read instead. () if the same chunks are searched and read."""
        return () if self.chunked.searched is self.chunks else (self.chunked.searched, self.chunks)

    @property
    def ranked(self) -> SearchedTexts:
        """The chunks that rerankers compare with a query, and that diversity steps compare with each other."""
        return SearchedTexts(self.data, self.chunks) if self.child_and_parent_chunks else self.searched


def choose_texts(cell: "Cell", data: DatasetStages, picking: PickingArm | None) -> CorpusStages:
    """Return the texts of a cell. An arm that picks its passages may have a custom chunker, and reads no header."""
    refined = build_refined_corpora(cell.refiner, data)
    refined_data = replace(data, corpus=refined[-1] if refined else data.corpus)
    chunked = chunk_corpus((picking and picking.chunker) or cell.chunk, refined_data)
    searched = (
        SearchedTexts(refined_data, chunked.read)
        if picking
        else add_headers(cell.header, refined_data, chunked.searched)
    )
    return CorpusStages(data.corpus, refined, refined_data, chunked, searched)
