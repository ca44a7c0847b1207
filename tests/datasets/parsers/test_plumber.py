"""PDF by pdfplumber."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.planted_documents import plant_facts, write_pdf, write_unruled_pdf
from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.parsers.plumber import Plumber
from tests.contracts.parser_contract import ParserContract


class TestPlumberLines(ParserContract):
    component = Plumber(tables=False, text_flow=False)
    forms = ("PDF", "PDF, no rules")

    def alone(self, file: Path) -> list[str]:
        import pdfplumber

        with pdfplumber.open(file) as document:
            return [page.extract_text() for page in document.pages]


class TestPlumberFlow(ParserContract):
    component = Plumber(tables=False)
    forms = ("PDF", "PDF, no rules")

    def alone(self, file: Path) -> list[str]:
        import pdfplumber

        with pdfplumber.open(file) as document:
            return [page.extract_text(use_text_flow=True) for page in document.pages]


class TestPlumberTables(ParserContract):
    component = Plumber()
    forms = ("PDF",)

    def alone(self, file: Path) -> list[str]:
        """The text with the lines of the table replaced by the table."""
        import pdfplumber

        with pdfplumber.open(file) as document:
            (page,) = document.pages
            (rows,) = page.extract_tables()
            text = page.extract_text(use_text_flow=True)
        lines = [f"| {' | '.join(row)} |" for row in rows]
        table = "\n".join(["", lines[0], "| --- | --- | --- |", *lines[1:], ""])
        as_text = "\n".join(" ".join(row) for row in rows)
        assert as_text in text
        return [text.replace(as_text, table)]


def _read(file: Path, parser: Plumber) -> str:
    return read_documents(file, ReadingOptions(parser=parser))[0].texts[0]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pdf_columns_are_read_in_order_only_with_text_flow(language: str, tmp_path: Path) -> None:
    content = plant_facts(2, language)
    write_pdf(content, tmp_path / "a.pdf")
    flowing, across = (_read(tmp_path / "a.pdf", Plumber(text_flow=flow)) for flow in (True, False))
    left, right = ("".join(column.split()) for column in content.columns)
    assert left + right in "".join(flowing.split())
    assert left not in "".join(across.split())


def test_pdf_tables_are_placed_between_their_paragraphs(tmp_path: Path) -> None:
    content = plant_facts(2, "en")
    write_pdf(content, tmp_path / "a.pdf")
    for flow in (True, False):
        text = " ".join(_read(tmp_path / "a.pdf", Plumber(text_flow=flow)).split())
        table = text.index(f"| {' | '.join(content.table[0])} | | --- |")
        assert (
            text.index(" ".join(content.paragraphs[1].split()[-4:]))
            < table
            < text.index(" ".join(content.columns[0].split()[:4]))
        )


def test_pdf_tables_without_rules_are_read_as_lines(tmp_path: Path) -> None:
    content = plant_facts(2, "en")
    write_unruled_pdf(content, tmp_path / "a.pdf")
    text = _read(tmp_path / "a.pdf", Plumber())
    assert "|" not in text
    assert all(" ".join(row) in text for row in content.table)


def test_frames_in_a_pdf_are_not_read_as_tables(tmp_path: Path) -> None:
    content = plant_facts(2, "en")
    framed = replace(content, table=[["A notice in a frame"]])
    write_pdf(framed, tmp_path / "a.pdf")
    assert "\nA notice in a frame\n" in _read(tmp_path / "a.pdf", Plumber())
