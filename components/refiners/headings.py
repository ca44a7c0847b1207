"""Headings of Markdown stand before all that follows them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from components.records import Documents, RefinedDocuments
from components.refiners.pieces import Piece, assembled, copied
from components.text.markdown import Block, blocks, may_have_headings


@dataclass(frozen=True)
class PrependedHeadings:
    """Before every block (paragraph, list, table) stand the headings that it is under, the outermost first, joined by
    `separator`, so that a chunk that is cut out of a long section still says what it is about. A heading is not
    repeated where it stood itself, unless nothing follows it. Texts without headings stay as they are.
    """

    separator: str = " > "

    version: ClassVar[int] = 1

    @property
    def steps(self) -> "tuple[PrependedHeadings]":
        """Itself."""
        return (self,)

    def refine(self, documents: Documents) -> RefinedDocuments:
        """Every document with its headings repeated."""
        found = [blocks(text) if may_have_headings(text) else [] for text in documents.texts]
        has_headings = [any(block.level for block in own) for own in found]
        pieces = [
            list(self._pieces(text, own)) if is_meant else [copied(text)]
            for text, own, is_meant in zip(documents.texts, found, has_headings, strict=True)
        ]
        counts = {
            "n_headings": sum(block.level > 0 for own in found for block in own),
            "n_documents_with_headings": sum(has_headings),
        }
        return assembled(documents, pieces, counts)

    def _pieces(self, text: str, found: list[Block]) -> Iterator[Piece]:
        path: list[Block] = []
        place = 0
        for block, following in zip(found, [*found[1:], None], strict=True):
            if text[place : block.start].strip():  # what is no block, such as the definition of a link
                yield copied(text, place, block.start)
            place = block.end
            if block.level:
                path = [*(above for above in path if above.level < block.level), block]
                if following is None or 0 < following.level <= block.level:  # nothing will repeat it
                    yield from self._headings(text, path)
            else:
                place = following.start if following else len(text)
                yield from self._headings(text, path)
                yield copied(text, block.start, place)
        if text[place:].strip():
            yield copied(text, place)

    def _headings(self, text: str, path: list[Block]) -> Iterator[Piece]:
        for number, heading in enumerate(path):
            start = text.find(heading.title, heading.start, heading.end) if heading.title else -1
            yield Piece(self.separator if number else "")
            if start >= 0:
                yield copied(text, start, start + len(heading.title))
            else:  # a heading of several lines, say
                yield Piece(heading.title, heading.start, heading.end)
        yield Piece("\n" if path else "")
