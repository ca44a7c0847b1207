"""Stages that split texts into the terms to index."""

from collections.abc import Sequence

import pyarrow as pa

from components.fields import runtime_only
from components.protocols import WordTokenizer
from components.records import Documents, Queries, Terms
from components.text.corpus_tables import TermTable, build_term_table, joined_tables, query_terms
from runner.engine.codecs import Columns, Parts
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


class BlockTerms(Stage[TermTable], kind="block_terms", display_name="terms of a block", version=1):
    """The terms of a block of documents for one word tokenizer."""

    codec = TermTableCodec()

    tokenizer: WordTokenizer
    documents: DocumentBlock

    def make(self, run: Run) -> TermTable:
        """Split every document once, for all chunkers."""
        return build_term_table(self.documents.read(run).texts, self.tokenizer)


class CorpusTerms(Stage[TermTable], kind="terms", version=2):
    """The terms of the corpus for one word tokenizer, for stages that need all of them."""

    codec = TermTableCodec()

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


class QueryWords(
    Stage[TermTable], kind="query_words", display_name="term table of queries", version=1, work=Work.PER_QUERY
):
    """The terms of the queries, numbered independently of the corpus."""

    codec = TermTableCodec()

    tokenizer: WordTokenizer
    queries: Stage[Queries]

    def make(self, run: Run) -> TermTable:
        return build_term_table(run.read(self.queries).texts, self.tokenizer)


class QueryTerms(Stage[Terms], kind="query_terms", version=1, work=Work.PER_QUERY):
    """The terms of the queries in the vocabulary of the corpus."""

    codec = Columns(Terms)

    tokenizer: WordTokenizer
    queries: Stage[Queries]
    terms: Stage[TermTable]

    def make(self, run: Run) -> Terms:
        """Split every query. Words that the corpus lacks are left out."""
        return query_terms(run.read(self.queries).texts, self.tokenizer, run.read(self.terms))
