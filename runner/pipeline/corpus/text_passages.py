"""Documents, chunks and queries as passages, with terms for components that read terms.

Each is a group of the stages that it reads, so that a stage only has the inputs that its component needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from components.protocols import WordTokenizer
from components.records import Documents, Passages, Queries, Spans, SpanTexts, Terms, TextRows
from components.text.corpus_tables import TermTable
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run
from runner.pipeline.corpus.chunk_stages import ChunkExcerpt, some_chunks
from runner.pipeline.corpus.corpus_blocks import DocumentBlock, build_document_blocks
from runner.pipeline.corpus.corpus_terms import BlockTerms, CorpusTerms, QueryTerms
from runner.pipeline.corpus.loaded_data import DatasetStages


@dataclass(frozen=True)
class DocumentPassages(StageGroup):
    """Whole documents as passages, for embedders that learn from a corpus."""

    corpus: Stage[Documents]
    terms: tuple[Stage[TermTable], ...] = ()

    def read(self, run: Run) -> Passages:
        """Return texts and titles, and terms if there is a tokenizer."""
        documents = run.read(self.corpus)
        terms = [run.read(stage).document_terms() for stage in self.terms]
        return Passages(documents.texts, _first_terms(terms), documents.titles)


@dataclass(frozen=True)
class ChunkPassages(StageGroup):
    """Chunks of the corpus as passages, in the order of the corpus."""

    corpus: Stage[Documents]
    chunks: Stage[Spans]
    terms: tuple[Stage[TermTable], ...] = ()

    def read(self, run: Run) -> Passages:
        """Return texts and the titles of their documents, and terms if there is a tokenizer."""
        return _chunks(run, run.read(self.corpus), self.chunks, self.terms)

    def read_documents(self, run: Run) -> Documents:
        """Return the documents that the chunks are spans of."""
        return run.read(self.corpus)

    def some(self, run: Run) -> ChunkExcerpt:
        """Return all chunks if they are cached, or else as many as a plan has time to cut."""
        return some_chunks(run, run.read(self.corpus), self.chunks)


@dataclass(frozen=True)
class BlockPassages(StageGroup):
    """Chunks of a block of documents, as spans of these documents."""

    documents: DocumentBlock
    chunks: Stage[Spans]
    terms: tuple[Stage[TermTable], ...] = ()

    def read(self, run: Run) -> Passages:
        """Return texts and titles: see `ChunkPassages`."""
        return _chunks(run, self.documents.read(run), self.chunks, self.terms)

    def read_documents(self, run: Run) -> Documents:
        """Return the documents of which the chunks are spans."""
        return self.documents.read(run)

    def some(self, run: Run) -> ChunkExcerpt:
        """Return all or some chunks: see `ChunkPassages`."""
        return some_chunks(run, self.documents.read(run), self.chunks)


def _chunks(run: Run, documents: Documents, chunks: Stage[Spans], terms: Sequence[Stage[TermTable]]) -> Passages:
    spans = run.read(chunks)
    chunk_terms = [run.read(stage).chunk_terms(spans) for stage in terms]
    return Passages(
        SpanTexts(documents.texts, spans), _first_terms(chunk_terms), TextRows(documents.titles, spans.document)
    )


@dataclass(frozen=True)
class QueryPassages(StageGroup):
    """Queries as passages, without titles."""

    queries: Stage[Queries]
    terms: tuple[Stage[Terms], ...] = ()

    def read(self, run: Run) -> Passages:
        """Return texts, and terms if there is a tokenizer."""
        return Passages(run.read(self.queries).texts, _first_terms([run.read(stage) for stage in self.terms]))


def _first_terms(terms: Sequence[Terms]) -> Terms | None:
    """Return the terms for the component's tokenizer, or None if it has no tokenizer."""
    return terms[0] if terms else None


def build_corpus_terms(tokenizer: WordTokenizer | None, data: DatasetStages) -> tuple[CorpusTerms, ...]:
    """Return the terms of the corpus for a component's tokenizer, or () if it has no tokenizer."""
    if tokenizer is None:
        return ()
    blocks = tuple(BlockTerms(tokenizer, block) for block in build_document_blocks(data))
    return (CorpusTerms(tokenizer, data.corpus, blocks),)


def build_query_terms(
    tokenizer: WordTokenizer | None, queries: Stage[Queries], data: DatasetStages
) -> tuple[QueryTerms, ...]:
    """Return the terms of queries for a component's tokenizer, or () if it has no tokenizer."""
    return tuple(QueryTerms(terms.tokenizer, queries, terms) for terms in build_corpus_terms(tokenizer, data))
