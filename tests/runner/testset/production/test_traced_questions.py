"""Values in which tracing libraries store questions, answers, passages and feedback."""

from typing import Any

import pytest

from components.records import Turn
from runner.testset.production.traced_questions import (
    SkippedTrace,
    TracedQuestion,
    feedback_label,
    name_thumbs,
    read_answer,
    read_conversation,
    read_passages,
    read_trace,
)

TALK = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "When was it opened?"},
    {"role": "assistant", "content": "In 1932."},
    {"role": "user", "content": [{"type": "text", "text": "By whom?"}]},
]
BEFORE = (Turn("When was it opened?", "In 1932."),)


@pytest.mark.parametrize(
    ("value", "history", "question"),
    [
        ("By whom?", (), "By whom?"),
        ('{"question": "By whom?"}', (), "By whom?"),
        ({"query": "By whom?", "top_k": 3}, (), "By whom?"),
        ({"input": {"question": "By whom?"}, "chat_history": []}, (), "By whom?"),
        ({"messages": TALK}, BEFORE, "By whom?"),
        (TALK, BEFORE, "By whom?"),
        (
            {"question": "By whom?", "history": [{"question": "When was it opened?", "answer": "In 1932."}]},
            BEFORE,
            "By whom?",
        ),
        (
            {"input": "By whom?", "chat_history": [["human", "When was it opened?"], ["ai", "In 1932."]]},
            BEFORE,
            "By whom?",
        ),
        ({"the_only_one": "By whom?"}, (), "By whom?"),
        ({"a": "x", "b": "y"}, (), ""),
        ({"question": {"question": {"question": 3}}}, (), ""),
        ([1, None, {"role": 3, "content": {}}], (), ""),
        ("{not JSON", (), "{not JSON"),
        (None, (), ""),
        (3.5, (), ""),
    ],
)
def test_conversations_are_read_from_the_usual_trace_forms(
    value: Any, history: tuple[Turn, ...], question: str
) -> None:
    assert read_conversation(value) == (history, question)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("Ada", "Ada"),
        ({"answer": "Ada", "passages": ["x"]}, "Ada"),
        ({"choices": [{"message": {"role": "assistant", "content": "Ada"}}]}, "Ada"),
        ({"messages": [*TALK, {"role": "assistant", "content": "Ada"}]}, "Ada"),
        ('{"response": "Ada"}', "Ada"),
        ({"a": 1}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_answers_are_read_from_the_usual_trace_forms(value: Any, answer: str) -> None:
    assert read_answer(value) == answer


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (["a", "b"], ["a", "b"]),
        ([{"page_content": "a", "metadata": {}}, {"document": {"content": "b"}}, {"id": 3}], ["a", "b"]),
        ({"documents": [{"text": "a"}]}, ["a"]),
        ('{"nodes": [{"node": {"text": "a"}}]}', ["a"]),
        ({"documents": 3}, []),
        ("a text", []),
        (None, []),
    ],
)
def test_passages_are_read_from_the_usual_trace_forms(value: Any, texts: list[str]) -> None:
    assert read_passages(value) == texts


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (True, "good"), (0, "0"), (-1, "-1"), (1.0, "1"), (" 4.50 ", "4.5"), ("Thumbs-Up", "good"), ("no", "bad"),
        ("so so", "so so"), (None, ""), ([1], ""), ("nan", "nan"), (10**400, "1" + 39 * "0"), ("\ud83d", "\ufffd"),
    ],
)  # fmt: skip
def test_trace_feedback_becomes_a_label(value: Any, label: str) -> None:
    assert feedback_label(value) == label


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, 0, -1, True, "yes", None], ["good", "bad", "bad", "good", "good", ""]),
        ([1, 2, 5, "good"], ["1", "2", "5", "good"]),
        ([0, 0.5, 1], ["0", "0.5", "1"]),
    ],
)
def test_one_is_a_thumb_up_only_without_a_scale(values: list[Any], labels: list[str]) -> None:
    """The worst of one to five stars is not good."""
    questions = [TracedQuestion(str(i), "Why?", feedback=feedback_label(value)) for i, value in enumerate(values)]
    assert [question.feedback for question in name_thumbs(questions)] == labels


def test_trace_without_a_question_is_skipped_with_its_reason() -> None:
    assert read_trace("t", {"a": 1, "b": 2}, "an answer") == SkippedTrace("no question in its input")
    assert read_trace("t", "q" * 100_001, "") == SkippedTrace("a question or an answer of more than 100,000 characters")
    deep: Any = "question"
    for _ in range(500):
        deep = {"input": deep}
    assert isinstance(read_trace("t", deep, deep), SkippedTrace)


def test_traced_passages_are_distinct_without_lone_surrogates() -> None:
    found = read_trace("t", "q \ud83d", "a", ["one", "one", " ", "two"])
    assert isinstance(found, TracedQuestion)
    assert found.passages == ("one", "two")
    found.question.encode()
