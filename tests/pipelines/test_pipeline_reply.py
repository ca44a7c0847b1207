"""Replies of pipelines: whatever breaks the contract is refused with its place."""

from dataclasses import dataclass

import pytest

from components.pipelines.pipeline_reply import (
    MAX_ANSWER_CHARACTERS,
    PipelineReply,
    parse_stored_replies,
    read_reply,
    split_question,
)
from components.records import Answer, AnswerState, ErrorClass, Turn
from components.user_code.returned_passages import MAX_PASSAGES, BadReply, ReportedPassage
from tests.contracts.pipeline_contract import make_request


@dataclass
class Source:
    text: str
    document_id: str = ""
    page: int = 3


@dataclass
class Reply:
    answer: str
    passages: tuple[Source, ...]


def reply_of(value: object) -> PipelineReply | None:
    return parse_stored_replies([read_reply(value, "q", 1.0)])[0]


def test_text_reply_has_unknown_passages() -> None:
    assert reply_of("In the west.") == PipelineReply("In the west.", None)


@pytest.mark.parametrize("name", ["contexts", "source_documents"])
def test_passages_under_another_name_are_refused(name: str) -> None:
    with pytest.raises(BadReply, match=f"has `{name}`, expected `passages`"):
        reply_of({"answer": "In the west.", name: ["a text"]})
    assert reply_of({"answer": "In the west.", name: "4 texts"}) == PipelineReply("In the west.", None)
    assert reply_of({"answer": "In the west.", name: ["a text"], "passages": None}) == PipelineReply(
        "In the west.", None
    )


def test_empty_passages_differ_from_unknown_passages() -> None:
    assert reply_of({"answer": "x", "passages": []}) == PipelineReply("x", ())
    assert reply_of({"answer": "x", "passages": None}) == PipelineReply("x", None)


def test_texts_records_and_dataclasses_are_read_as_passages() -> None:
    record = {"text": "b", "document_id": "d", "source": "s.md", "start": 3, "end": 4, "score": 0.5}
    assert reply_of({"answer": "x", "passages": ["a", record]}) == PipelineReply(
        "x", (ReportedPassage("a"), ReportedPassage("b", "d", "s.md", 3))
    )
    assert reply_of(Reply("x", (Source("a", "d"),))) == PipelineReply("x", (ReportedPassage("a", "d"),))


def test_reported_usage_and_seconds_become_part_of_the_answer() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": True, "total": 1}
    answer = read_reply({"answer": "x", "usage": usage, "seconds": 2}, "q", 1.0)
    assert (answer.n_prompt_tokens, answer.n_completion_tokens, answer.latency_s) == (5, None, 2.0)
    assert read_reply("x", "q", 1.0).latency_s == 1.0
    assert read_reply("x", "q", 1.0).n_prompt_tokens is None


def test_failed_request_has_no_stored_reply() -> None:
    assert parse_stored_replies([Answer("q", AnswerState.ERROR, error="no", error_class=ErrorClass.OTHER)]) == [None]


def test_lone_surrogates_of_a_reply_are_replaced() -> None:
    reply = reply_of({"answer": "a\ud800", "passages": ["b\udc00"]})
    assert reply == PipelineReply("a\ufffd", (ReportedPassage("b\ufffd"),))


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (None, "the reply: got None (NoneType)"),
        (7, "the reply: got 7 (int)"),
        (["x"], "the reply: got ['x'] (list)"),
        (Source, "the reply: got <class"),
        ({}, "answer: got None"),
        ({"answer": None}, "answer: got None"),
        ({"answer": ["x"]}, "answer: got ['x'] (list), expected a string"),
        ({"answer": "x" * (MAX_ANSWER_CHARACTERS + 1)}, "answer: has 100,001 characters"),
        ({"answer": "x", "passages": "text"}, "passages: got 'text' (str)"),
        ({"answer": "x", "passages": {"text": "a"}}, "passages: got {'text': 'a'} (dict)"),
        ({"answer": "x", "passages": [None]}, "passages[0]: got None"),
        ({"answer": "x", "passages": ["a", {"id": 1}]}, "passages[1].text: got None"),
        ({"answer": "x", "passages": [{"text": "a", "document_id": 7}]}, "passages[0].document_id: got 7 (int)"),
        ({"answer": "x", "passages": [{"text": "a", "start": -1}]}, "passages[0].start: got -1"),
        ({"answer": "x", "passages": [{"text": "a", "start": True}]}, "passages[0].start: got True"),
        ({"answer": "x", "passages": ["a"] * (MAX_PASSAGES + 1)}, "passages: got 1,001, expected at most 1,000"),
        ({"answer": "x", "passages": ["a" * 10_001] * 1000}, "passages: have 10,001,000 characters"),
        ({"answer": "x", "usage": 7}, "usage: got 7"),
        ({"answer": "x", "seconds": "2"}, "seconds: got '2' (str)"),
        ({"answer": "x", "seconds": float("nan")}, "seconds: got nan"),
        ({"answer": "x", "seconds": -1}, "seconds: got -1"),
        ({"answer": "x", "seconds": 1e300}, "seconds: got 1e+300"),
        ({"answer": "x", "seconds": 10**400}, "seconds: got 1000"),
    ],
)
def test_malformed_reply_error_names_the_field(value: object, place: str) -> None:
    with pytest.raises(BadReply) as caught:
        read_reply(value, "q", 1.0)
    assert str(caught.value).startswith(place)


def test_pipeline_question_includes_earlier_turns() -> None:
    request = make_request("And then?", Turn("First?", "Yes."), Turn("Second?", "No."))
    history = [{"question": "First?", "answer": "Yes."}, {"question": "Second?", "answer": "No."}]
    assert split_question(request) == ("And then?", history)
