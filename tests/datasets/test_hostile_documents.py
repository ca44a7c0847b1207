"""Documents that are made to exhaust their reader are read quickly, or end in an error."""

import sqlite3
from pathlib import Path
from time import process_time

import pytest
from pypdf import PageObject, PdfWriter

from components.datasets import data_files, parsing_time, sqlite_file
from components.datasets.csv_file import read_csv
from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.html_text import read_html
from components.datasets.pdf_file import read_pdf
from components.datasets.sqlite_file import read_database
from components.errors import DataError
from components.text.html_tables import html_tables

_ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r WHERE n < 0"


@pytest.mark.parametrize(
    "name",
    [b"a\0b", b"punycode", b"idna", b"unicode_escape", b"unicode-escape", b"raw_unicode_escape", b"utf-7", b"utf7"],
)
def test_html_encodings_that_no_browser_reads_are_refused(name: bytes) -> None:
    with pytest.raises(DataError, match="unknown encoding"):
        read_html(b"<meta charset='" + name + b"'><p>\\ud800</p>", "a.html")


@pytest.mark.parametrize("piece", ["<a x=\"'", "<p a='", "<a =", "<!--", "<table <"])
def test_unclosed_html_tags_take_linear_time(piece: str) -> None:
    text = "<table><tr><td>x" + piece * 20_000
    before = process_time()
    (table,) = html_tables(text)
    assert process_time() - before < 2
    assert table.end == len(text)
    assert table.rows[0].cells[0].startswith("x")


def test_wide_csv_file_takes_linear_time(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    columns = [f"c{i}" for i in range(50_000)]
    file.write_text(",".join(columns) + "\n" + ",".join("x" * len(columns)) + "\n")
    before = process_time()
    (row,) = read_csv(file, ReadingOptions()).entries
    assert process_time() - before < 5
    assert row.text.endswith("c49999: x")


@pytest.mark.parametrize("view", [_ENDLESS, "SELECT hex(zeroblob(400000000)) AS x"])
def test_endless_and_oversized_database_views_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    monkeypatch.setattr(sqlite_file, "_MAX_MILLIONS_OF_STEPS", 3)
    file = tmp_path / "a.db"
    database = sqlite3.connect(file)
    database.execute(f"CREATE VIEW v AS {view}")
    database.close()
    with pytest.raises(DataError, match=r"a\.db: (its rows take more than 3 million steps|cannot be read .*too big)"):
        read_database(file, ReadingOptions(tables=("v",)))


@pytest.mark.parametrize("part", [b"people", b"surname", b"a word of text"], ids=["table", "column", "value"])
def test_databases_with_bytes_that_are_not_utf8_are_refused(tmp_path: Path, part: bytes) -> None:
    file = tmp_path / "a.db"
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE people(surname TEXT)")
    database.execute("INSERT INTO people VALUES ('a word of text')")
    database.commit()
    database.close()
    file.write_bytes(file.read_bytes().replace(part, part[:1] + b"\xff" + part[2:]))
    with pytest.raises(
        DataError, match=r"a\.db: cannot be read as a SQLite database \(.*Repair the file, or remove it"
    ):
        read_database(file, ReadingOptions())


def test_line_beyond_the_length_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "MAX_LINE_BYTES", 10)
    file = tmp_path / "a.txt"
    file.write_bytes(b"123456789\n")
    assert list(data_files.read_lines(file, "a text")) == [(1, "123456789")]
    file.write_bytes(b"short\n" + b"x" * 11)
    with pytest.raises(DataError, match=r"a\.txt, line 2: is longer than 10 bytes"):
        list(data_files.read_lines(file, "a text"))


def test_html_page_that_parses_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing_time, "MAX_PAGE_S", 0.1)
    with pytest.raises(DataError, match=r"slow\.html: parsing took more than 0\.1 s\."):
        read_html(b"<p " + b"a=1 <p " * 20_000, "slow.html")
    assert read_html(b"<p>green", "quick.html").text == "green"


def test_unclosed_html_headings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing_time, "MAX_PAGE_S", 1.0)
    page = b"<h1>x" * 5_000
    assert read_html(page, "plain.html").text
    with pytest.raises(DataError, match=r"slow\.html: parsing took more than 1 s\."):
        read_html(page, "slow.html", keep_structure=True)


def test_pdf_page_that_reads_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def extract_text(page: PageObject) -> str:
        while True:
            pass

    file = tmp_path / "slow.pdf"
    writer = PdfWriter()
    writer.add_blank_page(width=72, height=72)
    writer.write(file)
    monkeypatch.setattr(parsing_time, "MAX_PAGE_S", 0.1)
    monkeypatch.setattr(PageObject, "extract_text", extract_text)
    with pytest.raises(DataError, match=r"slow\.pdf, page 1: parsing took more than 0\.1 s\."):
        read_pdf(file, ReadingOptions())


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.json"])
def test_file_beyond_the_size_limit_of_whole_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(data_files, "MAX_WHOLE_FILE_BYTES", 20)
    (tmp_path / name).write_bytes(b'[{"text": "x"}]')
    assert len(read_documents(tmp_path)[0]) == 1
    (tmp_path / name).write_bytes(b'[{"text": "xxxxxx"}]\n')
    with pytest.raises(DataError, match=rf"{name}: has 21 bytes, expected at most 20"):
        read_documents(tmp_path)


def test_long_article_in_a_csv_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    article = "word " * 40_000
    file.write_text(f'id,body\n1,"{article}"\n', encoding="utf-8")
    (row,) = read_csv(file, ReadingOptions(text_columns=("body",))).entries
    assert row.text == article
