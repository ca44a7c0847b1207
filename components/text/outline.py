"""Sections of a text, separated by the headings of Markdown and by pages."""

from bisect import bisect_right
from typing import NamedTuple

from components.text.markdown import blocks, may_have_headings

PAGE_END = "\f"
"""Separator of pages, as written by pdftotext."""


class Section(NamedTuple):
    """The characters [start, end) of a text from one heading or page to the next.

    `headings` are the headings above it, the outermost first, including its own. `page` counts from 1; 0 for a text
    without pages.
    """

    start: int
    end: int
    headings: tuple[str, ...]
    page: int


class Outline:
    """Sections of one text, which cover all of it."""

    def __init__(self, text: str) -> None:
        ends = (
            [position for position, character in enumerate(text) if character == PAGE_END] if PAGE_END in text else []
        )
        marks = [(end + 1, 0, "") for end in ends]
        text_blocks = blocks(text) if may_have_headings(text) else []
        marks += [(block.start, block.level, " ".join(block.title.split())) for block in text_blocks if block.level]
        self.sections: list[Section] = []
        path: list[tuple[int, str]] = []
        page, start = int(bool(ends)), 0
        for position, level, title in sorted(marks):
            self._close(start, position, path, page)
            start = position
            if level:
                path = [*(above for above in path if above[0] < level), (level, title)]
            else:
                page += 1
        self._close(start, len(text), path, page)
        self._starts = [section.start for section in self.sections]

    def _close(self, start: int, end: int, path: list[tuple[int, str]], page: int) -> None:
        if start < end:
            self.sections.append(Section(start, end, tuple(title for _, title in path), page))

    def at(self, position: int) -> Section:
        """Return the section of a character; an empty section if the text has no sections."""
        number = bisect_right(self._starts, position) - 1
        return self.sections[number] if number >= 0 else Section(0, 0, (), 0)

    def find_headings(self, position: int) -> tuple[str, ...]:
        """Return the headings above a character."""
        return self.at(position).headings
