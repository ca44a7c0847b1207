"""Files by MarkItDown."""

from pathlib import Path

import pytest

from components.datasets.document_files import missing_extras, read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.parsers.markitdown_files import MarkItDownFiles
from tests.contracts.parser_contract import ParserContract


class TestMarkItDownFiles(ParserContract):
    component = MarkItDownFiles()
    forms = ("PDF", "DOCX", "PPTX", "XLSX")

    def alone(self, file: Path) -> list[str]:
        from markitdown import MarkItDown

        return MarkItDown().convert(str(file)).markdown.strip("\n\f").split("\f")


def test_markitdown_reads_html_only_if_configured(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<title>T</title><h2>Head</h2><p>A <a href='b'>link</a>.</p>", encoding="utf-8")
    read = [
        read_documents(tmp_path, ReadingOptions(parser=MarkItDownFiles(kinds)))[0] for kinds in (("html",), ("pdf",))
    ]
    assert read[0].texts == ["T\n\n## Head\n\nA [link](b)."]
    assert read[1].texts == ["Head\nA link."]
    assert read[0].titles == read[1].titles == ["T"]


def test_markitdown_rejects_unknown_kinds_of_files() -> None:
    assert MarkItDownFiles(("doc", "pdf")).check() == [
        "kinds: got 'doc', expected one of pdf, docx, pptx, xlsx, html; did you mean docx?"
    ]
    assert MarkItDownFiles(()).check() == ["kinds: got none, expected at least one of pdf, docx, pptx, xlsx, html"]


def test_missing_markitdown_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.docx").write_bytes(b"")
    monkeypatch.setattr("components.datasets.document_files.find_spec", lambda name: None if name == "pptx" else name)
    (message,) = missing_extras(tmp_path, ReadingOptions(parser=MarkItDownFiles()))
    assert "needs the package 'pptx'" in message
    assert "[markitdown]" in message
