"""Reference answers in users' questions."""

from pathlib import Path
from typing import Any

import pytest

from components.datasets.jsonl_samples import _FIELDS
from components.errors import DataError
from components.metrics.contains import Contains
from components.records import Sample
from tests.contracts.metric_contract import score_texts, value_of
from tests.datasets.test_jsonl import single_sample


@pytest.mark.parametrize(
    ("references", "texts", "parts"),
    [
        (["A", "B"], ("A", "B"), ()),
        ([["A", "B"]], ("A, B",), (("A",), ("B",))),
        ([[["A", "a"], "B"]], ("A, B", "a, B"), (("A", "a"), ("B",))),
        (["A", ["B", "C"]], ("A", "B, C"), (("A", "B"), ("A", "C"))),
        ([["A", "B"], ["A", "C"]], ("A, B", "A, C"), (("A",), ("A", "C"), ("B", "A"), ("B", "C"))),
        ([["北京", "上海"]], ("北京、上海",), (("北京",), ("上海",))),
    ],
)
def test_reference_may_have_parts_with_wordings(
    tmp_path: Path, references: list[Any], texts: tuple[str, ...], parts: tuple[tuple[str, ...], ...]
) -> None:
    sample = single_sample(tmp_path, references=references)
    assert (sample.references, sample.answer_parts) == (texts, parts)


def is_right(sample: Sample, answer: str) -> float:
    return value_of(score_texts(Contains(), [sample], [answer])["contains_all"])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("red and blue", 1), ("green, gold", 1), ("red, gold", 0), ("green and blue", 0), ("all: red, gold, blue", 1)],
)
def test_all_parts_of_one_alternative_are_a_right_answer(tmp_path: Path, answer: str, expected: float) -> None:
    sample = single_sample(tmp_path, references=[["red", "blue"], ["green", ["gold", "golden"]]])
    assert is_right(sample, answer) == expected


def test_answer_parts_override_references(tmp_path: Path) -> None:
    sample = single_sample(tmp_path, references=[["A", "B"]], answer_parts=["C"])
    assert sample.answer_parts == (("C",),)


def test_fake_answers_of_a_question_are_read(tmp_path: Path) -> None:
    assert single_sample(tmp_path, fake_answers="1954").fake_answers == ("1954",)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"references": [["A", " "]]}, "line 1, field 'references': a part is blank"),
        ({"references": [["A"], []]}, "line 1, field 'references': an alternative has no part"),
        ({"references": [[["A", 3]]]}, "field 'part': got a number"),
        ({"references": [[list("abcdefg")] * 3]}, "its parts and wordings combine to 343 texts, expected at most 256"),
        ({"references": [list("abcdefg")] * 3}, "combine to 343 texts"),
        ({"fakeanswer": "x"}, "did you mean fake_answers"),
    ],
)
def test_invalid_answer_fields_are_rejected(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        single_sample(tmp_path, **fields)


def test_null_fields_equal_missing_fields(tmp_path: Path) -> None:
    names = set(_FIELDS) - {"id", "question"}
    assert single_sample(tmp_path, **dict.fromkeys(names)) == single_sample(tmp_path)
