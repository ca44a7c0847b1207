"""Headers that say where a chunk is: the title of its document, and the headings above it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Documents, Spans
from components.text.outline import Outline


@dataclass(frozen=True)
class Place:
    """The title of a chunk's document and the Markdown headings above it, the outermost first, joined by `separator`.

    `title` and `section` include the title and the headings. A chunk with neither has the header "".
    """

    title: bool = True
    section: bool = True
    separator: str = " > "

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return an error message if both `title` and `section` are false."""
        return [] if self.title or self.section else ["title, section: got false for both (for none, header=none)"]

    @property
    def writers(self) -> "tuple[Place]":
        """The header itself, the only writer."""
        return (self,)

    def write(self, documents: Documents, chunks: Spans) -> Sequence[str]:
        """Return a line per chunk; "" for a chunk without title and headings."""
        headers = []
        outline, read = Outline(""), -1
        for document, start in zip(chunks.document.tolist(), chunks.start.tolist(), strict=True):
            if self.section and document != read:
                outline, read = Outline(documents.texts[document]), document
            title = [documents.titles[document]] if self.title and documents.titles[document] else []
            headers.append(self.separator.join([*title, *(outline.find_headings(start) if self.section else ())]))
        return headers
