"""Tables of documents, with the sentences around them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Documents, RefinedDocuments
from components.refiners.pieces import Piece, assemble_documents, copy_piece
from components.text import markdown
from components.text.html_tables import HtmlRow, HtmlTable, html_tables
from components.text.sentences import sentence_ends


@dataclass(frozen=True)
class ExtractedTables:
    """Documents with tables, reduced to these tables and `n_sentences` before and after each of them.

    Tables are in Markdown or HTML; rows of HTML are rewritten in Markdown. Documents without a table stay unchanged.
    With `id_prefixes`, documents whose id has another prefix stay unchanged too.
    Source: the Multi-Reranker system for the ACM-ICAIF '24 FinanceRAG challenge, section on pre-retrieval, which
    extracts the tables of one of its seven sets.
    """

    n_sentences: int = 1
    id_prefixes: tuple[str, ...] = ()

    version: ClassVar[int] = 2

    @property
    def steps(self) -> "tuple[ExtractedTables]":
        """The refiner itself, its only step."""
        return (self,)

    def check(self) -> list[str]:
        """Return an error message for a negative number of sentences."""
        return [] if self.n_sentences >= 0 else [f"n_sentences: got {self.n_sentences}, expected at least 0"]

    def refine(self, documents: Documents) -> RefinedDocuments:
        """Return every document reduced to its tables."""
        prefixes = self.id_prefixes or ("",)
        all_tables = [
            _tables(text) if document_id.startswith(prefixes) else []
            for document_id, text in zip(documents.ids, documents.texts, strict=True)
        ]
        pieces = [
            list(self._pieces(text, tables)) if tables else [copy_piece(text)]
            for text, tables in zip(documents.texts, all_tables, strict=True)
        ]
        counts = {
            "n_tables": sum(len(tables) for tables in all_tables),
            "n_documents_cut_down_to_tables": sum(bool(tables) for tables in all_tables),
        }
        return assemble_documents(documents, pieces, counts)

    def _pieces(self, text: str, tables: Sequence[HtmlTable]) -> Iterator[Piece]:
        for before, table in zip([None, *tables], [*tables, None], strict=True):
            between = _sentences(text, before.end if before else 0, table.start if table else len(text))
            for number, (start, end) in enumerate(between):
                follows = before is not None and number < self.n_sentences
                leads = table is not None and number >= len(between) - self.n_sentences
                if follows or leads:
                    yield from _line(text, start, end)
            if table and table.rows:
                yield from map(_row_piece, table.rows)
            elif table:
                yield from _line(text, table.start, table.end)


def _tables(text: str) -> list[HtmlTable]:
    """Return the tables in order. Tables in Markdown have no rows, because their text is copied."""
    in_html = html_tables(text)
    in_markdown = [
        HtmlTable(start, end, ())
        for start, end in markdown.tables(text)
        if not any(table.start < end and start < table.end for table in in_html)
    ]
    return sorted([*in_html, *in_markdown])


def _row_piece(row: HtmlRow) -> Piece:
    return Piece(f"| {' | '.join(row.cells)} |\n", row.start, row.end)


def _sentences(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Return the sentences in a part of a text, as characters [start, end), without blank ones."""
    ends = [first + int(end) for end in sentence_ends(text[first:last])]
    spans = zip([first, *ends], ends, strict=False)
    return [(start, end) for start, end in spans if text[start:end].strip()]


def _line(text: str, start: int, end: int) -> Iterator[Piece]:
    yield copy_piece(text, start, end)
    if not text[start:end].endswith("\n"):
        yield Piece("\n")
