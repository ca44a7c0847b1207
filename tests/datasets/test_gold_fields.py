"""The gold of a user's questions, and which of it are alternatives."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.datasets.gold_fields import read_gold
from components.datasets.jsonl import Jsonl
from components.datasets.missing_documents import MissingDocuments
from components.errors import DataError
from components.records import Evidence
from tests.datasets.test_jsonl import QUESTION, load, single_sample, write

A, B = Evidence("a.md"), Evidence("b.md")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"gold": ["a.md", "b.md"]}, (A, B)),
        ({"gold_any": ["a.md", "b.md"]}, (Evidence("a.md", one_of=1), Evidence("b.md", one_of=1))),
        ({"gold": [["a.md", "b.md"]]}, (Evidence("a.md", one_of=1), Evidence("b.md", one_of=1))),
        ({"gold_any": "a.md"}, (A,)),
        ({"gold_any": ["a.md", "a.md"]}, (A,)),
        (
            {"gold": [["a.md", "b.md"], "a.md", ["b.md", {"document": "a.md", "quote": "was opened in 1932"}]]},
            (
                Evidence("a.md", one_of=1),
                Evidence("b.md", one_of=1),
                A,
                Evidence("b.md", one_of=2),
                Evidence("a.md", 11, 29, one_of=2),
            ),
        ),
        ({"gold": "a.md", "gold_any": [{"document": "a.md", "grade": 2}, "b.md"]}, None),
    ],
)
def test_gold_fields_give_the_expected_evidence(
    tmp_path: Path, fields: dict[str, Any], expected: tuple[Evidence, ...] | None
) -> None:
    both = (A, Evidence("a.md", grade=2, one_of=1), Evidence("b.md", one_of=1))
    assert single_sample(tmp_path, **fields).gold == (both if expected is None else expected)


@pytest.mark.parametrize(
    "quote", ["pressure is 10^3 Pa", "pressure is 103 Pa", "pres\u00adsure is\u200b 103 Pa", "Pa at 25 m2"]
)
def test_quote_copied_from_a_web_page_is_located(quote: str) -> None:
    text = "The pressure is 10^3 Pa at 25 m^2."
    ((unit,),) = read_gold({"gold": {"document": "a", "quote": quote}}, {"a": text}, MissingDocuments(["a"]), "line 1")
    assert unit.start is not None
    assert text[unit.start : unit.end].replace("^", "") == quote.replace("^", "").replace("\u00ad", "").replace(
        "\u200b", ""
    )


def test_quote_of_invisible_characters_is_an_error() -> None:
    with pytest.raises(DataError, match="which contains it 0 times"):
        read_gold({"gold": {"document": "a", "quote": "\u200b"}}, {"a": "text"}, MissingDocuments(["a"]), "line 1")


@pytest.mark.parametrize(
    ("quote", "nearest"),
    [
        ("She runs the kitchen in Ghent.", r"as rag-grid read it \(nearest: 'runs the \*\*kitchen\*\* in Ghent\.'\)"),
        ("entirely unrelated words", r"as rag-grid read it, or give start and end\.$"),
    ],
)
def test_error_for_a_missing_quote_shows_the_nearest_text(quote: str, nearest: str) -> None:
    text = "Our chef is Ada. She runs the **kitchen** in Ghent. Ask her for the menu."
    with pytest.raises(DataError, match=nearest):
        read_gold({"gold": {"document": "a", "quote": quote}}, {"a": text}, MissingDocuments(["a"]), "line 1")


def test_quote_of_an_unread_file_suggests_the_parser() -> None:
    missing = MissingDocuments(["a.md"], "1 .docx")
    with pytest.raises(DataError, match=r"no document 'b\.docx' with text; .* Add parser=office, which reads them\."):
        read_gold({"gold": {"document": "b.docx", "quote": "x"}}, {"a.md": "text"}, missing, "line 1")


def test_quote_of_a_misspelled_document_suggests_the_id() -> None:
    missing = MissingDocuments(["docs/a.md"])
    with pytest.raises(DataError, match=r"no document 'A\.txt' with text; did you mean docs/a\.md\?"):
        read_gold({"gold": {"document": "A.txt", "quote": "x"}}, {"docs/a.md": "text"}, missing, "line 1")


def passages(*relevant: object) -> list[dict[str, object]]:
    return [{"text": f"text {place}", "relevant": own} for place, own in enumerate(relevant)]


@pytest.mark.parametrize(
    ("relevant", "one_of"),
    [((True, False, True), [1, 1]), ((True, False), [0]), ((1, 2, 1, 3, 3), [1, 1, 0, 2, 2]), ((False,), [])],
)
def test_relevant_passages_are_alternatives(tmp_path: Path, relevant: tuple[object, ...], one_of: list[int]) -> None:
    write(tmp_path, {**QUESTION, "passages": passages(*relevant)})
    (sample,) = Jsonl("", str(tmp_path / "samples.jsonl")).load().samples
    assert [unit.one_of for unit in sample.gold] == one_of
    assert {unit.document_id for unit in sample.gold} <= set(sample.passages)


def test_gold_takes_precedence_over_relevant_passages(tmp_path: Path) -> None:
    given = [{"document": "a.md", "relevant": True}, {"document": "b.md", "relevant": True}]
    assert single_sample(tmp_path, gold=["a.md", "b.md"], passages=given).gold == (A, B)


@pytest.mark.parametrize(
    ("start", "end", "text"), [(0, 10, "The bridge"), (31, 41, "The bridge"), (31, 41, "The\nbridge")]
)
def test_offsets_select_one_of_several_matches_of_a_quote(tmp_path: Path, start: int, end: int, text: str) -> None:
    unit = {"document": "a.md", "quote": text, "start": start, "end": end}
    assert single_sample(tmp_path, gold=[unit]).gold == (Evidence("a.md", start, end),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"gold": {"document": "a.md", "quote": "The bridge", "start": 1, "end": 11}},
            "samples.jsonl, line 1: gold of document 'a.md' has start 1 and end 11, but its quote 'The bridge' is at 0 "
            "to 10, 31 to 41. Correct the offsets, or leave out the offsets or the quote.",
        ),
        ({"gold": {"document": "a.md", "quote": "is long", "start": 41}}, "has start 41 and end None, but its quote"),
        ({"gold": {"document": "a.md", "quote": "a tunnel", "start": 0, "end": 8}}, "or leave the quote out"),
        ({"gold": ["a.md", []]}, "line 1, field 'gold': got an empty list of alternatives"),
        ({"gold": [[["a.md"]]]}, "line 1, field 'gold': got a list, expected an object"),
        ({"gold_any": 3}, "is not in the corpus, which has no document '3'"),
        ({"gold": 0}, "is not in the corpus, which has no document '0'"),
        ({"gold": 3.5}, "line 1, field 'gold': got a number, expected a list"),
        (
            {"gold": {"document": "a.md", "quote": "the “Bridge”"}},
            "which contains it 0 times, but has the same words with different punctuation, case or Unicode characters",
        ),
        ({"gold": False}, "line 1, field 'gold': got a boolean, expected a list"),
        ({"gold_any": ["c.md"]}, "is not in the corpus, which has no document 'c.md'"),
    ],
)
def test_invalid_gold_fields_are_refused_in_one_line(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as raised:
        load(tmp_path, {**QUESTION, **fields})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("gold", [7, [7], {"document": 7}, {"document": 7, "quote": "a bridge"}])
def test_numeric_document_ids_are_read_in_gold(tmp_path: Path, gold: object) -> None:
    documents, questions = tmp_path / "documents.jsonl", tmp_path / "samples.jsonl"
    documents.write_text('{"id": 7, "text": "a bridge"}\n', encoding="utf-8")
    questions.write_text(json.dumps({"id": 1, "question": "What?", "gold": gold}) + "\n", encoding="utf-8")
    (sample,) = Jsonl(documents=str(documents), samples=str(questions)).load().samples
    assert [unit.document_id for unit in sample.gold] == ["7"]
