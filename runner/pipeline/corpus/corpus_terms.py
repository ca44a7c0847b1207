"""Stages that split texts into the terms to index."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from components.fields import runtime_only
from components.protocols import WordTokenizer
from components.records import Documents, Queries, Terms
from components.text.tables import TermTable, build_term_table, joined_tables, query_terms
from runner.engine.codecs import Codec, Columns, Parts
from runner.engine.stage import AnyStage, Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.corpus_blocks import DocumentBlock


class TermTableCodec:
    """Stores arrays, and the vocabulary as a table."""

    def encode(self, result: TermTable) -> Parts:
        vocabulary = pa.table({"term": pa.array(result.vocabulary, pa.string())})
        return {**Columns(TermTable).encode(result), "vocabulary": vocabulary}

    def decode(self, parts: Parts) -> TermTable:
        arrays = {name: parts[name] for name in ("offsets", "ids", "start", "end")}
        return TermTable(**arrays, vocabulary=parts["vocabulary"]["term"].to_pylist())


@dataclass(frozen=True, eq=False)
class BlockTerms(Stage[TermTable]):
    """The terms of a block of documents for one word tokenizer."""

    kind: ClassVar[str] = "block_terms"
    in_words: ClassVar[str] = "terms of a block"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[TermTable]] = TermTableCodec()

    tokenizer: WordTokenizer
    documents: DocumentBlock

    def make(self, run: Run) -> TermTable:
        """Split every document once, for all chunkers."""
        return build_term_table(self.documents.read(run).texts, self.tokenizer)


@dataclass(frozen=True, eq=False)
class CorpusTerms(Stage[TermTable]):
    """The terms of the corpus for one word tokenizer, for stages that need all of them."""

    kind: ClassVar[str] = "terms"
    version: ClassVar[int] = 2
    codec: ClassVar[Codec[TermTable]] = TermTableCodec()

    tokenizer: WordTokenizer
    corpus: Stage[Documents]
    blocks: tuple[BlockTerms, ...] = runtime_only((), "a document has the same terms in any block")

    @property
    def also_read(self) -> Sequence[AnyStage]:
        return [stage for block in self.blocks for stage in block.inputs]

    def make(self, run: Run) -> TermTable:
        """Join the terms of all blocks."""
        tables = [run.read(block) for block in self.blocks]
        return joined_tables(tables, [block.documents.rows(run) for block in self.blocks])


@dataclass(frozen=True, eq=False)
class QueryWords(Stage[TermTable]):
    """The terms of the queries, numbered independently of the corpus."""

    kind: ClassVar[str] = "query_words"
    in_words: ClassVar[str] = "terms of queries"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[TermTable]] = TermTableCodec()

    tokenizer: WordTokenizer
    queries: Stage[Queries]

    def make(self, run: Run) -> TermTable:
        return build_term_table(run.read(self.queries).texts, self.tokenizer)


@dataclass(frozen=True, eq=False)
class QueryTerms(Stage[Terms]):
    """The terms of the queries in the vocabulary of the corpus."""

    kind: ClassVar[str] = "query_terms"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Terms]] = Columns(Terms)

    tokenizer: WordTokenizer
    queries: Stage[Queries]
    terms: Stage[TermTable]

    def make(self, run: Run) -> Terms:
        """Split every query. Words that the corpus lacks are left out."""
        return query_terms(run.read(self.queries).texts, self.tokenizer, run.read(self.terms))
