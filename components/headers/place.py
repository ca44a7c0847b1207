"""Where a chunk stands: the title of its document, and the headings that it is under."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Documents, Spans
from components.text.outline import Outline


@dataclass(frozen=True)
class Place:
    """The title of the document (unless `title` is false) and the headings of Markdown that a chunk is under (unless
    `section` is false), the outermost first, joined by `separator`. A chunk that nothing is known of has no header.
    """

    title: bool = True
    section: bool = True
    separator: str = " > "

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Nothing to write."""
        return [] if self.title or self.section else ["title, section: got false for both (for none, header=none)"]

    @property
    def writers(self) -> "tuple[Place]":
        """Itself."""
        return (self,)

    def write(self, documents: Documents, chunks: Spans) -> Sequence[str]:
        """A line per chunk."""
        headers = []
        outline, read = Outline(""), -1
        for document, start in zip(chunks.document.tolist(), chunks.start.tolist(), strict=True):
            if self.section and document != read:
                outline, read = Outline(documents.texts[document]), document
            title = [documents.titles[document]] if self.title and documents.titles[document] else []
            headers.append(self.separator.join([*title, *(outline.headings_at(start) if self.section else ())]))
        return headers
