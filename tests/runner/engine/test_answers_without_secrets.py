"""What a language model answers is stored without the secrets of the environment, and otherwise as it is."""

from collections.abc import Iterator

import pytest

from components.records import Answer, AnswerState
from runner.engine.answers_without_secrets import without_secrets_in

SECRET = "Quite-Secret-77/x"


def test_texts_thoughts_and_errors_hold_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    answers = [
        Answer("a", AnswerState.OK, f"It is {SECRET}.", thoughts=f"Quite-Secret-77%2Fx? {SECRET}"),
        Answer("b", AnswerState.ERROR, error=f"HTTP 401: {SECRET} at http://u:p@host"),
    ]
    first, second = without_secrets_in(iter(answers))
    assert (first.text, first.thoughts) == ("It is ***.", "***? ***")
    assert second.error == "HTTP 401: *** at http://***@host"


def test_an_answer_without_a_secret_is_the_same_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    answer = Answer("a", AnswerState.OK, "Use http://u:p@host with api_key='sk-1234567890abcdefghij'.")
    (found,) = without_secrets_in(iter([answer]))
    assert found is answer


def test_the_source_is_closed_with_it() -> None:
    closed = []

    def generate() -> Iterator[Answer]:
        try:
            yield Answer("a", AnswerState.OK, "x")
            yield Answer("b", AnswerState.OK, "y")
        finally:
            closed.append(True)

    answers = without_secrets_in(generate())
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert closed == [True]
