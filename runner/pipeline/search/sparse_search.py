"""Stages of the search by shared terms: index, search."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from components.fields import runtime_only
from components.protocols import SparseIndex
from components.records import Documents, Hits, IndexBlock, Passages, Queries, Spans
from components.text.corpus_tables import TermTable
from runner.engine.codecs import Columns, NamedArraysCodec, Parts
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.engine.store.part_files import Part
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.checked_arrays import validate_arrays
from runner.pipeline.corpus.chunk_stages import chunk_blocks
from runner.pipeline.corpus.corpus_blocks import DocumentBlock, find_positions, searched_blocks, whole_corpora
from runner.pipeline.corpus.corpus_terms import BlockTerms, QueryWords
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.sub_corpora import ALL, Rows, SearchedCorpora
from runner.pipeline.corpus.text_passages import BlockPassages
from runner.pipeline.search.checked_hits import validate_hits
from runner.pipeline.search.searching import Search


class BuiltSparseIndex(Stage[Parts], kind="sparse_index", version=2):
    """The index over the terms of a block's chunks."""

    codec = NamedArraysCodec()

    index: SparseIndex
    chunks: BlockPassages

    def make(self, run: Run) -> Parts:
        return validate_arrays(self.index.build(self.chunks.read(run)), self.index)


@dataclass(frozen=True)
class SearchedBlock(StageGroup):
    """A block of chunks with its index."""

    documents: DocumentBlock
    terms: Stage[TermTable]
    built: BuiltSparseIndex

    def read(self, run: Run, chunks: Spans, query_terms: TermTable) -> IndexBlock:
        """Return the block for a search by the `query_terms`, among all `chunks` of the corpus."""
        number_of = run.read(self.terms).term_positions
        term_ids = np.array([number_of.get(term, -1) for term in query_terms.vocabulary], dtype=np.int32)
        return IndexBlock(_LazyParts(run, self.built), find_positions(chunks, self.documents.rows(run)), term_ids)


class _LazyParts(Mapping[str, Part]):
    """The arrays of an index, read on demand, so that only one block is in memory."""

    def __init__(self, run: Run, built: BuiltSparseIndex) -> None:
        self._run, self._built = run, built

    def __getitem__(self, name: str) -> Part:
        return self._run.read(self._built)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._run.read(self._built))

    def __len__(self) -> int:
        return len(self._run.read(self._built))


_SAME_HITS = "an index returns the same hits for any partition of its corpus"


class SparseHits(Search, kind="sparse_hits", version=3, work=Work.PER_QUERY):
    """The chunks that share the most with every query."""

    codec = Columns(Hits)

    index: SparseIndex
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    queries: Stage[Queries]
    words: QueryWords
    corpora: SearchedCorpora
    blocks: tuple[tuple[SearchedBlock, ...], ...] = runtime_only((), _SAME_HITS)

    def make(self, run: Run) -> Hits:
        return self.search(run, self.depth, ALL)

    def search(self, run: Run, depth: int, query_rows: Rows) -> Hits:
        """Return the chunks that share the most with the chosen queries."""
        words = run.read(self.words)
        queries = sub_corpora.rows(Passages(run.read(self.queries).texts, words.document_terms()), query_rows)
        chunks = run.read(self.chunks)
        parts = sub_corpora.select_query_rows(self.corpora.ranges(run), query_rows)
        part_hits = []
        for part, part_blocks in zip(parts, self.blocks, strict=True):
            blocks = [block.read(run, chunks, words) for block in part_blocks]
            part_queries = sub_corpora.rows(queries, part.queries)
            hits = self.index.search(blocks, part_queries, depth)
            part_hits.append(validate_hits(hits, len(part_queries), len(chunks), self.index))
        return sub_corpora.join_hits(part_hits, parts, len(queries))


MAX_SHARE_FIELD = "max_share_without_hits"
"""Field of an index that makes a search fail if many queries find nothing. A few queries may find nothing."""


def without_hit_check(index: SparseIndex) -> SparseIndex:
    """Return an index with the same hits that does not fail if many queries have none."""
    has_alarm = any(field.name == MAX_SHARE_FIELD for field in fields(index))  # type: ignore[arg-type]  # a dataclass
    return replace(index, **{MAX_SHARE_FIELD: 1.0}) if has_alarm else index  # type: ignore[type-var]  # a dataclass


def build_sparse_search(
    index: SparseIndex, data: DatasetStages, chunks: Stage[Spans], queries: Stage[Queries], depth: int
) -> SparseHits:
    """Return the stage that searches an index of terms."""
    corpora = sub_corpora.add_query_rows(sub_corpora.split_corpus(data, chunks), queries, data.samples)
    parts = searched_blocks(data) if index.is_blockwise else whole_corpora(data)
    blocks = tuple(_indexed_blocks(index, chunks, part) for part in parts)
    words = QueryWords(index.tokenizer, queries)
    return SparseHits(depth, index, data.corpus, chunks, queries, words, corpora, blocks)


def _indexed_blocks(
    index: SparseIndex, chunks: Stage[Spans], documents: tuple[DocumentBlock, ...]
) -> tuple[SearchedBlock, ...]:
    return tuple(_searched_block(index, block.documents, block.spans) for block in chunk_blocks(chunks, documents))


def _searched_block(index: SparseIndex, documents: DocumentBlock, spans: Stage[Spans]) -> SearchedBlock:
    terms = BlockTerms(index.tokenizer, documents)
    return SearchedBlock(documents, terms, BuiltSparseIndex(index.as_built, BlockPassages(documents, spans, (terms,))))
