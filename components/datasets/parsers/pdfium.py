"""PDF by PDFium, the engine of Chrome: text in the order of the page, without tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from components.protocols.parsing import ParsedFile

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_BROKEN_WORD = "\ufffe"
"""PDFium's mark for a hyphen at the end of a line."""


@dataclass(frozen=True)
class Pdfium:
    """The text of each page of a PDF. Cells of tables are words of their line."""

    version: ClassVar[int] = 1
    suffixes: ClassVar[tuple[str, ...]] = (".pdf",)
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2",)
    extra: ClassVar[str] = "pdf"

    @property
    def parts(self) -> "tuple[Pdfium]":
        """The parser itself."""
        return (self,)

    def parse(self, file: Path) -> ParsedFile:
        """Return the text of the pages."""
        from pypdfium2 import PdfDocument

        document = PdfDocument(file)
        return ParsedFile(document.get_metadata_value("Title"), _pages(document))


def _pages(document: "PdfDocument") -> Iterator[str]:
    try:
        for page in document:
            text: str = page.get_textpage().get_text_bounded()
            page.close()
            yield text.replace("\r\n", "\n").replace("\r", "\n").replace(_BROKEN_WORD, "-")
    finally:
        document.close()
