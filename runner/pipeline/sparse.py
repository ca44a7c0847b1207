"""The search by shared terms: index, search."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import SparseArm, SparseIndex
from components.records import Hits, Queries, Spans
from runner.engine.codecs import Codec, Columns, Named, Parts
from runner.engine.run import Run
from runner.engine.stage import Stage, Work
from runner.pipeline import sub_corpora
from runner.pipeline.data import Data
from runner.pipeline.passages import ChunkPassages, QueryPassages, corpus_terms, query_terms
from runner.pipeline.searching import Search
from runner.pipeline.sub_corpora import ALL, Rows, SearchedCorpora, SubCorpora


@dataclass(frozen=True, eq=False)
class BuiltSparseIndex(Stage[Parts]):
    """The index over the chunks' terms, one for each sub-corpus."""

    kind: ClassVar[str] = "sparse_index"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Parts]] = Named()

    index: SparseIndex
    chunks: ChunkPassages
    corpora: SubCorpora

    def make(self, run: Run) -> Parts:
        """Builds it."""
        chunks = self.chunks.read(run)
        parts = self.corpora.ranges(run)
        return sub_corpora.join([self.index.build(sub_corpora.rows(chunks, part.chunks)) for part in parts])


@dataclass(frozen=True, eq=False)
class SparseHits(Search):
    """The chunks that share most with every query."""

    kind: ClassVar[str] = "sparse_hits"
    version: ClassVar[int] = 2
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Hits]] = Columns(Hits)

    index: SparseIndex
    depth: int
    built: BuiltSparseIndex
    queries: QueryPassages
    corpora: SearchedCorpora

    def make(self, run: Run) -> Hits:
        """Searches."""
        return self.search(run, self.depth, ALL)

    def search(self, run: Run, depth: int, chosen: Rows) -> Hits:
        """The chunks that share most with the chosen ones among the queries."""
        built, queries = run.read(self.built), sub_corpora.rows(self.queries.read(run), chosen)
        parts = sub_corpora.among(self.corpora.ranges(run), chosen)
        found = [
            self.index.search(sub_corpora.take(built, part), sub_corpora.rows(queries, part.queries), depth)
            for part in parts
        ]
        return sub_corpora.merge(found, parts, len(queries))


def sparse_hits(arm: SparseArm, data: Data, chunks: Stage[Spans], queries: Stage[Queries], depth: int) -> SparseHits:
    """The ranking of an arm that searches by terms."""
    index, corpus = arm.sparse_index, data.corpus
    corpora = sub_corpora.sub_corpora(data, chunks)
    built = BuiltSparseIndex(index, ChunkPassages(corpus, chunks, corpus_terms(index.tokenizer, corpus)), corpora)
    passages = QueryPassages(queries, query_terms(index.tokenizer, queries, corpus))
    return SparseHits(index, depth, built, passages, sub_corpora.searched(corpora, queries, data.samples))
