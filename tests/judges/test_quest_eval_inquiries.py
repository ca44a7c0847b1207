import pytest

from components.judges.quest_eval_inquiries import (
    QuestionedText,
    answers_from,
    questions_about,
    read_answers,
    read_questions,
)
from components.records import Kind, Message, Sample

SAMPLE = Sample("s", "qa", Kind.QA, "西湖？", ("杭州",))


def test_question_request_contains_the_text() -> None:
    inquiry = questions_about(QuestionedText(SAMPLE, "文{text}字"), "系统", "就{text}提问")
    assert inquiry.request.messages == (Message("system", "系统"), Message("user", "就文{text}字提问"))
    assert inquiry.read('{"key_info": ["杭州"], "questions": ["在哪？"]}') == ("在哪？",)


def test_copied_form_of_a_question_request_is_not_a_reply() -> None:
    form = '{"key_info": ["first item"], "questions": ["first question", "second question"]}'
    inquiry = questions_about(QuestionedText(SAMPLE, "Text"), "", "{text} Print " + form)
    assert inquiry.read(form) is None
    assert inquiry.read('{"key_info": [], "questions": []}') == ()
    assert inquiry.read('{"key_info": ["1932"], "questions": ["..."]}') is None


def test_answer_request_numbers_the_questions() -> None:
    inquiry = answers_from(
        QuestionedText(SAMPLE, "文字", ("在哪？", "{text}？")), "", "{text}|{questions}|{cannot_infer}", "无法推断"
    )
    assert inquiry.request.messages == (Message("user", "文字|1. 在哪？\n2. {text}？|无法推断"),)
    assert inquiry.read('{"1": "甲"}') is None
    assert inquiry.read('{"1": "甲", "2": "乙"}') == ("甲", "乙")


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ('```json\n{"key_info": [], "questions": ["a？", " b？ ", "a？", ""]}\n```', ("a？", "b？")),
        ('{"questions": []}', ()),
        ('{"questions": "a？"}', None),
        ('{"questions": [{"a": 1}]}', None),
        ('{"key_info": ["a"]}', None),
        ("我没有问题", None),
    ],
)
def test_quest_eval_questions_are_read_from_replies(text: str, questions: tuple[str, ...] | None) -> None:
    assert read_questions(text) == questions


@pytest.mark.parametrize(
    "text",
    [
        '{"answers": [{"number": 1, "answer": "甲"}, {"number": 2, "answer": "乙"}]}',
        '{"answers": [{"number": 2, "answer": "乙"}, {"number": 1, "answer": "甲"}]}',
        '{"answers": [{"number": "1", "answer": " 甲 "}, {"number": "２", "answer": "乙"}]}',
        '{"answers": {"1": "甲", "2": "乙"}}',
        "{'2': '乙', '1': '甲'}",
        '[{"number": 1, "answer": "甲"}, {"number": 2, "answer": "乙"}]',
        '如下：\n```json\n{"answers": [{"number": 1, "answer": "甲"}, {"number": 2, "answer": "乙"},]}\n```',
        '{"answers": [{"number": 1, "answer": "甲"}, {"number": 2, "answer": "乙"}, {"number": 3, "answer": "丙"}]}',
    ],
)
def test_quest_eval_answers_are_read_from_replies(text: str) -> None:
    assert read_answers(text, 2) == ("甲", "乙")


@pytest.mark.parametrize(
    "text",
    [
        '{"answers": [{"number": 1, "answer": "甲"}, {"number": 3, "answer": "丙"}]}',
        '{"answers": ["甲", "乙"]}',
        '{"answers": [{"answer": "甲"}, {"answer": "乙"}]}',
        '{"answers": [{"number": 1, "answer": "甲"}, {"number": 2, "answer": null}]}',
        '{"answers": [{"number": 1, "answer": "甲"}, {"number": 2, "answer": " "}]}',
        '{"answers": [{"number": 1, "answer": "..."}, {"number": 2, "answer": "..."}]}',
        "1. 甲\n2. 乙",
        "",
    ],
)
def test_quest_eval_answer_without_its_number_is_missing(text: str) -> None:
    assert read_answers(text, 2) is None


def test_numeric_quest_eval_answers_are_read_as_text() -> None:
    assert read_answers('{"1": 12, "2": 1.5}', 2) == ("12", "1.5")
