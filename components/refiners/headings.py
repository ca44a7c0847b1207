"""Headings of Markdown, repeated before every block below them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from components.records import Documents, RefinedDocuments
from components.refiners.pieces import Piece, assemble_documents, copy_piece
from components.text.markdown import Block, blocks, may_have_headings


@dataclass(frozen=True)
class PrependedHeadings:
    """Repeats the headings above every block (paragraph, list, table), so that a chunk from a long section still
    shows its subject.

    The outermost heading comes first, and `separator` joins them. A heading is removed from its original position,
    unless no block follows it. Texts without headings stay unchanged.
    """

    separator: str = " > "

    version: ClassVar[int] = 1

    @property
    def steps(self) -> "tuple[PrependedHeadings]":
        """The refiner itself, its only step."""
        return (self,)

    def refine(self, documents: Documents) -> RefinedDocuments:
        """Return every document with its headings repeated."""
        blocks_of_documents = [blocks(text) if may_have_headings(text) else [] for text in documents.texts]
        has_headings = [any(block.level for block in document_blocks) for document_blocks in blocks_of_documents]
        pieces = [
            list(self._pieces(text, document_blocks)) if has_heading else [copy_piece(text)]
            for text, document_blocks, has_heading in zip(
                documents.texts, blocks_of_documents, has_headings, strict=True
            )
        ]
        counts = {
            "n_headings": sum(block.level > 0 for document_blocks in blocks_of_documents for block in document_blocks),
            "n_documents_with_headings": sum(has_headings),
        }
        return assemble_documents(documents, pieces, counts)

    def _pieces(self, text: str, document_blocks: list[Block]) -> Iterator[Piece]:
        path: list[Block] = []
        position = 0
        for block, following in zip(document_blocks, [*document_blocks[1:], None], strict=True):
            if text[position : block.start].strip():  # text outside all blocks, such as the definition of a link
                yield copy_piece(text, position, block.start)
            position = block.end
            if block.level:
                path = [*(above for above in path if above.level < block.level), block]
                if following is None or 0 < following.level <= block.level:  # nothing will repeat it
                    yield from self._headings(text, path)
            else:
                position = following.start if following else len(text)
                yield from self._headings(text, path)
                yield copy_piece(text, block.start, position)
        if text[position:].strip():
            yield copy_piece(text, position)

    def _headings(self, text: str, path: list[Block]) -> Iterator[Piece]:
        for number, heading in enumerate(path):
            start = text.find(heading.title, heading.start, heading.end) if heading.title else -1
            yield Piece(self.separator if number else "")
            if start >= 0:
                yield copy_piece(text, start, start + len(heading.title))
            else:  # a heading of several lines, for example
                yield Piece(heading.title, heading.start, heading.end)
        yield Piece("\n" if path else "")
