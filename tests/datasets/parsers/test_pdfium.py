"""PDF by PDFium."""

from pathlib import Path

from components.datasets.parsers.pdfium import Pdfium
from tests.contracts.parser_contract import ParserContract


class TestPdfium(ParserContract):
    component = Pdfium()
    forms = ("PDF", "PDF, no rules")

    def alone(self, file: Path) -> list[str]:
        import pypdfium2

        with pypdfium2.PdfDocument(file) as document:
            return [page.get_textpage().get_text_range().replace("\r\n", "\n") for page in document]
