"""Values that no answer may have are errors without secrets."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from components.errors import ComponentError
from components.records import Answer, AnswerState, Request
from runner.engine.checked_answers import checked_answers

KEY = "zQ9-4711-aVeryLongSecretOfMine-0815-end"


class Mine:
    """Puts an exception where its text is wanted."""

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        error: Any = ValueError(KEY)
        yield Answer(requests[0].id, AnswerState.ERROR, error=error)


def test_a_secret_is_hidden_before_a_value_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_API_KEY", KEY)
    llm: Any = Mine()
    request: Any = type("Asked", (), {"id": "a"})()
    with pytest.raises(ComponentError, match=r"Answer\.error: got ValueError\('\*\*\*'\), expected a string"):
        list(checked_answers(llm, [request]))
