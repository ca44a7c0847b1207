"""Answers are checked on arrival, and neither errors nor stored answers contain secrets of the environment."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from components.errors import ComponentError
from components.records import Answer, AnswerState, Request
from runner.engine.checked_answers import hide_secrets, validate_answers
from runner.engine.hidden_answers import hidden_lines

KEY = "zQ9-4711-aVeryLongSecretOfMine-0815-end"
SECRET = "Quite-Secret-77/x"


class Mine:
    """Puts an exception in the place of its text."""

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        error: Any = ValueError(KEY)
        yield Answer(requests[0].id, AnswerState.ERROR, error=error)


def test_secret_in_an_invalid_answer_is_hidden_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_API_KEY", KEY)
    llm: Any = Mine()
    request: Any = type("Asked", (), {"id": "a"})()
    with pytest.raises(ComponentError, match=r"Answer\.error: got ValueError\('\*\*\*'\), expected a string"):
        list(validate_answers(llm, [request]))


def test_answer_texts_thoughts_and_errors_contain_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    answers = [
        Answer("a", AnswerState.OK, f"It is {SECRET}.", thoughts=f"Quite-Secret-77%2Fx? {SECRET}"),
        Answer("b", AnswerState.ERROR, error=f"HTTP 401: {SECRET} at http://u:p@host"),
    ]
    first, second = hide_secrets(iter(answers))
    assert (first.text, first.thoughts) == ("It is ***.", "***? ***")
    assert second.error == "HTTP 401: *** at http://***@host"


def test_answer_without_a_secret_is_returned_as_the_same_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    answer = Answer("a", AnswerState.OK, "Use http://u:p@host with api_key='sk-1234567890abcdefghij'.")
    (found,) = hide_secrets(iter([answer]))
    assert found is answer


def test_answers_with_hidden_secrets_are_counted_by_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    monkeypatch.setenv("OTHER_TOKEN", KEY)
    hidden: dict[str, Sequence[str]] = {}
    answers = [
        Answer("a", AnswerState.OK, f"{SECRET} and {SECRET}", thoughts=SECRET),
        Answer("b", AnswerState.OK, SECRET[9:], thoughts=SECRET[:9]),
        Answer("c", AnswerState.OK, f"{KEY}"),
        Answer("d", AnswerState.OK, "nothing"),
        Answer("e", AnswerState.ERROR, error=KEY),
    ]
    assert len(list(hide_secrets(iter(answers), hidden))) == len(answers)
    assert hidden == {"a": ["MY_API_KEY"], "b": ["MY_API_KEY"], "c": ["OTHER_TOKEN"]}
    first, second = hidden_lines(Counter(variable for variables in hidden.values() for variable in variables))
    assert first.startswith("2 answers of a model contained the value of MY_API_KEY, and were stored with *** ")
    assert second.startswith("1 answer of a model contained the value of OTHER_TOKEN, and was stored with *** ")
    assert "run.store_dir" in first
    assert not any(each in first + second for each in (SECRET, KEY))


def test_closing_checked_answers_closes_the_source() -> None:
    closed = []

    def generate() -> Iterator[Answer]:
        try:
            yield Answer("a", AnswerState.OK, "x")
            yield Answer("b", AnswerState.OK, "y")
        finally:
            closed.append(True)

    answers = hide_secrets(generate())
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert closed == [True]
