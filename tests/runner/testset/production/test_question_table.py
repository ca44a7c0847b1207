"""Questions from a CSV file."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from components.datasets.jsonl import Jsonl
from runner.datasets import main

TABLE = """Ref,Customer question,Correct answer,Article,Sentence,Kind
7,What is the fee?,5 crowns,fees.md,"The fee is 5 crowns, \nper day.",Money
8,Where do I pay?,,fees.md; places.md,,
9,Who was the first mayor?,,,,Money
,,,,,
"""
COLUMNS = (
    "--question", "Customer question", "--answer", "Correct answer", "--document", "Article", "--quote", "Sentence",
    "--topic", "Kind", "--id", "Ref",
)  # fmt: skip


def convert(folder: Path, text: str = TABLE, *arguments: str, encoding: str = "utf-8-sig") -> int:
    (folder / "faq.csv").write_text(text, encoding=encoding)
    return main(["table", str(folder / "faq.csv"), "--out", str(folder / "q.jsonl"), *(arguments or COLUMNS)])


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "q.jsonl").read_text(encoding="utf-8").splitlines()]


def test_table_becomes_questions_that_a_data_set_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(tmp_path) == 0
    assert "3 questions (sentence known 1, document known 1, no gold 1)" in capsys.readouterr().out
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fees.md").write_text("Harbour. The fee is 5 crowns, per day.")
    (tmp_path / "docs" / "places.md").write_text("Pay at Pier 3.")
    loaded = Jsonl(documents=str(tmp_path / "docs"), samples=str(tmp_path / "q.jsonl")).load()
    quote, document, nothing = loaded.samples
    assert (quote.id, quote.question, quote.references) == ("7", "What is the fee?", ("5 crowns",))
    assert [(unit.document_id, unit.start, unit.end) for unit in quote.gold] == [("fees.md", 9, 38)]
    assert [(unit.document_id, unit.one_of) for unit in document.gold] == [("fees.md", 1), ("places.md", 1)]
    assert (nothing.gold, nothing.answerable, nothing.topic) == ((), True, quote.topic)


def test_blank_documents_can_mean_unanswerable_questions(tmp_path: Path) -> None:
    assert convert(tmp_path, TABLE, *COLUMNS, "--blank-is-unanswerable") == 0
    assert [record.get("answerable", True) for record in records(tmp_path)] == [True, True, False]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_recognized_by_the_first_line(tmp_path: Path, delimiter: str) -> None:
    text = delimiter.join(("q", "a")) + "\n" + delimiter.join(("What, then?" if delimiter != "," else "What?", "5"))
    assert convert(tmp_path, text, "--question", "q", "--answer", "a") == 0
    assert records(tmp_path)[0]["references"] == ["5"]


def test_separator_in_a_title_is_not_taken_for_the_first_one(tmp_path: Path) -> None:
    assert convert(tmp_path, "q;a, if any\nWhat?;5\n", "--question", "q", "--answer", "a, if any") == 0
    assert records(tmp_path)[0]["references"] == ["5"]


def test_rows_without_an_id_are_numbered(tmp_path: Path) -> None:
    assert convert(tmp_path, "q\nOne?\n\nTwo?\n", "--question", "q") == 0
    assert [record["id"] for record in records(tmp_path)] == ["2", "4"]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("Question\nx\n", ("--question", "Questoin"), "no column 'Questoin', expected one of Question; did you mean"),
        (
            "q,q\nx,y\n",
            ("--question", "q"),
            "has the column 'q' 2 times, expected a CSV file of questions. Name each column once.",
        ),
        ("q,a\nx,y,z\n", ("--question", "q"), "row 2: got 3 cells, expected 2 as in the first row"),
        ("q,a\n,y\n", ("--question", "q", "--answer", "a"), "row 2: the column 'q' is empty. Write a question"),
        ("q,d,s\nx,a;b,y\n", ("--question", "q", "--document", "d", "--quote", "s"), "has a quote and 2 documents"),
        ("q,d,s\nx,,y\n", ("--question", "q", "--document", "d", "--quote", "s"), "has a quote and 0 documents"),
        ("q,i\nx,1\ny,1\n", ("--question", "q", "--id", "i"), "row 3: the id '1' is also that of"),
        ("q\n", ("--question", "q"), "has no row with a question. Check --question."),
        ("", ("--question", "q"), "has no column 'q', but there are none"),
        ('q\n"x', ("--question", "q"), "line 2: is not CSV (unexpected end of data), expected a CSV file"),
    ],
)
def test_unusable_table_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, arguments: tuple[str, ...], message: str
) -> None:
    assert convert(tmp_path, text, *arguments) == 2
    assert message in re.sub(r"\s+", " ", capsys.readouterr().err)
    assert not (tmp_path / "q.jsonl").exists()


def test_table_in_another_encoding_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(tmp_path, "q\nWas kostet die Gebühr?\n", "--question", "q", encoding="latin-1") == 2
    assert "Excel saves" in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_output_never_overwrites_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "faq.csv").write_text(TABLE)
    table = str(tmp_path / "faq.csv")
    assert main(["table", table, "--question", "Customer question", "--out", table]) == 2
    assert "would overwrite" in re.sub(r"\s+", " ", capsys.readouterr().err)
    assert (tmp_path / "faq.csv").read_text() == TABLE
