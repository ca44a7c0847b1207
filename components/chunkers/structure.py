"""Chunks that end at the end of sections and pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

import numpy as np

from components.chunkers.budget import Unit, size_problems
from components.chunkers.sentence import SentencePacking, pack_within
from components.protocols import Tokenizer
from components.records import Documents, Segments, Spans
from components.text.outline import Outline, Section
from components.tokenizers.cl100k import Cl100k


@dataclass(frozen=True)
class SectionPacking:
    """Packs the sentences of each section into chunks of at most `size` tokens (or characters).

    A section extends from one Markdown heading or end of a page to the next. `SentencePacking` packs each section like
    a document. A heading right above another heading belongs to its section. Texts without headings and pages are
    packed as a whole.
    """

    size: int = 256
    overlap: float = 0.0
    unit: Unit = Unit.TOKEN
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return one message per error in size and overlap."""
        return size_problems(self.size, self.overlap, self.unit, self.tokenizer)

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """The tokenizer that counts sizes, or None for sizes in characters."""
        return None if self.unit is Unit.CHAR else self.tokenizer

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Return spans sorted by (document, start)."""
        rows = [(i, *span) for i, text in enumerate(documents.texts) for span in _sections(text)]
        sections = Spans(*np.array(rows, dtype=np.int32).reshape(-1, 3).T)
        packing = SentencePacking(self.size, self.overlap, self.unit, self.tokenizer)
        return pack_within(sections, packing, documents, segments)

    def facts(self, documents: Documents, chunks: Spans) -> Sequence[Mapping[str, str]]:
        """Return the `section` (the headings above it) and the `page` of each chunk, each only if it has one."""
        chunk_facts = []
        outline, read = Outline(""), -1
        for document, start, end in zip(*(part.tolist() for part in _columns(chunks)), strict=True):
            if document != read:
                outline, read = Outline(documents.texts[document]), document
            page, headings = outline.at(start).page, outline.at(end - 1).headings
            facts = {"section": " > ".join(headings), "page": str(page or "")}
            chunk_facts.append({name: value for name, value in facts.items() if value})
        return chunk_facts


def _columns(chunks: Spans) -> tuple[np.ndarray, ...]:
    return chunks.document, chunks.start, chunks.end


def _sections(text: str) -> Iterator[tuple[int, int]]:
    """Yield the characters [start, end) of each section, joined with headings without text right above it."""
    start = -1
    sections = Outline(text).sections
    for section, following in zip_longest(sections, sections[1:]):
        start = section.start if start < 0 else start
        if following and _is_heading_alone(text, section) and len(following.headings) > len(section.headings):
            continue
        yield start, section.end
        start = -1


def _is_heading_alone(text: str, section: Section) -> bool:
    lines = text[section.start : section.end].strip().splitlines()
    return len(lines) == 1 and bool(section.headings) and lines[0].startswith("#")
