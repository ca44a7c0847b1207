"""Rows of databases and of CSV files as documents."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from components.datasets import table_rows
from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.errors import DataError


def write_database(file: Path, script: str) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.executescript(script)


SHOP = """
CREATE TABLE "an ""odd"" name" (x TEXT);
INSERT INTO "an ""odd"" name" VALUES ('first'), (NULL), ('third');
CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT, body TEXT, picture BLOB, price REAL);
INSERT INTO articles VALUES (7, 'Lamp', 'It is green.', x'00ff', 9.5), (8, NULL, NULL, NULL, 1.0);
CREATE TABLE parts (article INTEGER, number INTEGER, name TEXT, PRIMARY KEY (article, number)) WITHOUT ROWID;
INSERT INTO parts VALUES (7, 1, 'A foot'), (7, 2, 'A bulb');
CREATE VIEW dear AS SELECT id, title FROM articles WHERE price > 5;
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write_database(tmp_path / "shop.db", SHOP)
    return tmp_path / "shop.db"


def test_every_row_of_every_table_becomes_a_document(shop: Path) -> None:
    documents, counts = read_documents(shop.parent)
    assert dict(zip(documents.ids, documents.texts, strict=True)) == {
        'shop.db/an "odd" name/000001': "x: first",
        'shop.db/an "odd" name/000002': "",
        'shop.db/an "odd" name/000003': "x: third",
        "shop.db/articles/7": "id: 7\ntitle: Lamp\nbody: It is green.\nprice: 9.5",
        "shop.db/articles/8": "id: 8\nprice: 1.0",
        "shop.db/parts/7,1": "article: 7\nnumber: 1\nname: A foot",
        "shop.db/parts/7,2": "article: 7\nnumber: 2\nname: A bulb",
    }
    assert documents.titles[3] == "Lamp"
    assert not documents.metadata
    assert counts == {
        "n_files_of_other_kinds": 0, "files_of_other_kinds": "", "n_binary_values": 1, "n_views": 1
    }  # fmt: skip


def test_only_chosen_tables_and_columns_are_read(shop: Path) -> None:
    documents, counts = read_documents(shop, ReadingOptions(tables=("articles",), text_columns=("body",)))
    assert list(documents.ids) == ["shop.db/articles/7", "shop.db/articles/8"]
    assert list(documents.texts) == ["It is green.", ""]
    assert list(documents.titles) == ["Lamp", ""]
    assert list(documents.metadata) == [{"id": "7", "price": "9.5"}, {"id": "8", "price": "1.0"}]
    several, counts = read_documents(shop, ReadingOptions(text_columns=("title", "body")))
    assert several.texts[0] == "title: Lamp\nbody: It is green."
    assert counts["n_tables_without_text_columns"] == 2


def test_database_view_is_read_only_by_name(shop: Path) -> None:
    documents, _ = read_documents(shop, ReadingOptions(tables=("dear",)))
    assert (list(documents.ids), list(documents.texts)) == (["shop.db/dear/000001"], ["id: 7\ntitle: Lamp"])


def test_unknown_database_table_is_rejected(shop: Path) -> None:
    with pytest.raises(DataError, match=r"shop\.db: tables: got 'article', expected one of .*articles, dear, parts"):
        read_documents(shop, ReadingOptions(tables=("article",)))


def test_unknown_database_text_columns_are_rejected(shop: Path) -> None:
    with pytest.raises(DataError, match=r"no table in it has a column 'Body' or 'content'\. Correct `text_columns`"):
        read_documents(shop.parent, ReadingOptions(text_columns=("Body", "content")))


def test_unknown_text_column_is_rejected_next_to_a_known_one(shop: Path) -> None:
    with pytest.raises(DataError, match=r"no table in it has a column 'Body'\. Correct `text_columns`"):
        read_documents(shop.parent, ReadingOptions(text_columns=("title", "Body")))


def test_text_columns_do_not_affect_plain_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Plain.", encoding="utf-8")
    assert read_documents(tmp_path, ReadingOptions(text_columns=("body",)))[0].texts == ["Plain."]


def test_database_file_is_never_written_to(shop: Path) -> None:
    shop.chmod(0o444)
    shop.parent.chmod(0o555)
    before = shop.read_bytes()
    try:
        read_documents(shop)
        assert shop.read_bytes() == before
        assert [file.name for file in shop.parent.iterdir()] == ["shop.db"]
    finally:
        shop.parent.chmod(0o755)


def test_database_with_uncommitted_wal_changes_is_rejected(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "busy.db")) as database:
        database.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t (x); INSERT INTO t VALUES ('new');")
        with pytest.raises(DataError, match=r"busy\.db: some of its changes are still in busy\.db-wal"):
            read_documents(tmp_path / "busy.db")
    assert read_documents(tmp_path / "busy.db")[0].texts == ["x: new"]


def test_damaged_database_is_an_error_unlike_other_db_files(shop: Path) -> None:
    (shop.parent / "Thumbs.db").write_bytes(b"pictures")
    (shop.parent / "~$shop.db").write_bytes(b"open in an office program")
    _, counts = read_documents(shop.parent)
    assert counts["files_of_other_kinds"] == "1 .db of another kind"
    content = shop.read_bytes()
    shop.write_bytes(content[:5000] + b"\xff" * (len(content) - 5000))
    with pytest.raises(DataError, match=r"shop\.db: cannot be read as a SQLite database \(.*malformed"):
        read_documents(shop.parent)
    (shop.parent / "other.sqlite").write_bytes(b"pictures")
    with pytest.raises(DataError, match=r"other\.sqlite: cannot be read as a SQLite database \(file is not a database"):
        read_documents(shop.parent / "other.sqlite")


def test_database_text_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    write_database(tmp_path / "a.db", "CREATE TABLE t (x TEXT); INSERT INTO t VALUES (CAST(x'ff' AS TEXT));")
    with pytest.raises(DataError, match=r"a\.db: cannot be read as a SQLite database \(Could not decode to UTF-8"):
        read_documents(tmp_path)


def test_tables_beyond_the_memory_limit_are_rejected(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "_MAX_CHARACTERS", 40)
    with pytest.raises(DataError, match=r"shop\.db: its rows hold more than 40 characters.*Choose the `tables`"):
        read_documents(shop)


CSV = 'id,Title,body\n1,Lamp,"It is green,\nand ""old""."\n\n2,,Plain\n'


def test_csv_rows_become_documents(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeff" + CSV, encoding="utf-8")
    (tmp_path / "b.TSV").write_text("x\ty\n1\t2,3\n", encoding="utf-8")
    documents, _ = read_documents(tmp_path)
    assert dict(zip(documents.ids, documents.texts, strict=True)) == {
        "a.csv/000001": 'id: 1\nTitle: Lamp\nbody: It is green,\nand "old".',
        "a.csv/000002": "id: 2\nbody: Plain",
        "b.TSV/000001": "x: 1\ny: 2,3",
    }
    assert list(documents.titles) == ["Lamp", "", ""]
    chosen, counts = read_documents(tmp_path, ReadingOptions(text_columns=("body",)))
    assert chosen.texts == ['It is green,\nand "old".', "Plain"]
    assert list(chosen.metadata) == [{"id": "1"}, {"id": "2"}]
    assert counts["n_tables_without_text_columns"] == 1


def test_columns_without_a_name_are_named_by_number(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Stations 2020,,\nname,town,opened\nTern bridge,Selby,1932\n", encoding="utf-8")
    documents, _ = read_documents(tmp_path)
    assert documents.texts[1] == "Stations 2020: Tern bridge\ncolumn 2: Selby\ncolumn 3: 1932"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1\n", r"line 2: got 1 values, expected 2"),
        ("a,a\n1,2\n", r"two columns are named 'a'"),
        ('a,b\n1,"open\n', r"line 2: unexpected end of data"),
    ],
)
def test_unreadable_csv_files_are_errors(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_documents(tmp_path)


def test_empty_csv_file_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("", encoding="utf-8")
    assert read_documents(tmp_path)[1]["n_tables_without_rows"] == 1


@pytest.mark.parametrize(
    ("name", "header", "sign"),
    [("a.csv", "title;body", "';'"), ("a.csv", "title\tbody", r"'\t'"), ("a.tsv", "title,body", "','")],
)
def test_csv_with_an_unsupported_separator_is_rejected(tmp_path: Path, name: str, header: str, sign: str) -> None:
    (tmp_path / name).write_text(f"{header}\nLamp\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_documents(tmp_path)
    assert f"a{name[1:]}: the first row names one column, {header!r}, which contains {sign}." in str(caught.value)
