"""Passages as a sweep makes them: with terms where the receiving component has a tokenizer, and for prompts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from components.protocols import WordTokenizer
from components.records import IndexBlock, Passage, Passages
from components.text.corpus_tables import TermTable, build_term_table, query_terms


def make_passages(*texts: str) -> tuple[Passage, ...]:
    """Return the contents of a prompt, without titles."""
    return tuple(Passage(text) for text in texts)


def term_table(texts: Sequence[str], tokenizer: WordTokenizer | None) -> TermTable | None:
    """The terms of a corpus, if they are needed."""
    return build_term_table(texts, tokenizer) if tokenizer else None


def passages(texts: Sequence[str], table: TermTable | None) -> Passages:
    """The texts of the table."""
    return Passages(texts, table.document_terms() if table else None)


def index_block(index: Mapping[str, Any], n_chunks: int, table: TermTable) -> IndexBlock:
    """An index over all chunks, for queries whose terms are numbered as in the table."""
    return IndexBlock(index, np.arange(n_chunks, dtype=np.int32), np.arange(len(table.vocabulary), dtype=np.int32))


def queries_for(texts: Sequence[str], tokenizer: WordTokenizer | None, table: TermTable | None) -> Passages:
    """Queries, with their terms in the vocabulary of the table."""
    terms = query_terms(texts, tokenizer, table) if tokenizer and table else None
    return Passages(texts, terms)
