"""Files by Microsoft's MarkItDown, which writes Markdown."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from components.limits import expected_one_of
from components.protocols.parsing import ParsedFile

if TYPE_CHECKING:
    from markitdown import MarkItDown

_KINDS = ("pdf", "docx", "pptx", "xlsx", "html")
_PAGE_END = "\f"


@dataclass(frozen=True)
class MarkItDownFiles:
    """Converts a file to Markdown. Only PDF has several pages; `kinds` are the extensions to read."""

    kinds: tuple[str, ...] = ("pdf", "docx", "pptx", "xlsx")

    version: ClassVar[int] = 1
    packages: ClassVar[tuple[str, ...]] = ("markitdown", "mammoth", "pptx", "openpyxl", "pdfminer")
    extra: ClassVar[str] = "markitdown"

    @property
    def parts(self) -> "tuple[MarkItDownFiles]":
        """The parser itself."""
        return (self,)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The extensions of `kinds`."""
        return tuple(f".{kind}" for kind in self.kinds)

    def check(self) -> list[str]:
        """Return error messages for an empty list of kinds and for unknown kinds."""
        if not self.kinds:
            return [f"kinds: got none, expected at least one of {', '.join(_KINDS)}"]
        return [f"kinds: got {kind!r}{expected_one_of(kind, _KINDS)}" for kind in self.kinds if kind not in _KINDS]

    def parse(self, file: Path) -> ParsedFile:
        """Return the text of the file. Plug-ins of MarkItDown are off."""
        result = _converter().convert_local(file)
        return ParsedFile(result.title or "", iter(result.markdown.strip(f"\n{_PAGE_END}").split(_PAGE_END)))


@cache
def _converter() -> "MarkItDown":
    """Return the converter, once per process, because it loads a model that detects kinds of files.

    It has no converter for other kinds: a damaged file would be read as plain text.
    """
    from markitdown import MarkItDown
    from markitdown.converters import DocxConverter, HtmlConverter, PdfConverter, PptxConverter, XlsxConverter

    converter = MarkItDown(enable_builtins=False, enable_plugins=False)
    for kind in (HtmlConverter, PdfConverter, DocxConverter, PptxConverter, XlsxConverter):
        converter.register_converter(kind())
    return converter
