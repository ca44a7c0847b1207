"""PDF by PDFium, the engine of Chrome: text in the order of the page, without tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.datasets.pdfium_texts import read_with_pdfium
from components.protocols.parsing import ParsedFile
from components.text.radicals import restore_ideographs

_BROKEN_WORD = "\ufffe"
"""PDFium's mark for a hyphen at the end of a line, and the end of that line."""


@dataclass(frozen=True)
class Pdfium:
    """Reads the text of each page of a PDF. Table cells are read as words of their line."""

    version: ClassVar[int] = 2
    suffixes: ClassVar[tuple[str, ...]] = (".pdf",)
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2",)
    extra: ClassVar[str] = "pdf"

    @property
    def parts(self) -> "tuple[Pdfium]":
        """The parser itself."""
        return (self,)

    def parse(self, file: Path) -> ParsedFile:
        """Return the text of the pages. Raises DataError for a page that makes PDFium crash or exceed a limit."""
        title, *pages = read_with_pdfium(file)
        return ParsedFile(title, map(_clean, pages))


def _clean(text: str) -> str:
    return restore_ideographs(text).replace("\r\n", "\n").replace("\r", "\n").replace(_BROKEN_WORD, "-\n")
