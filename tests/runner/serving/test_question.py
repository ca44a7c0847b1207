"""Questions from programs and from JSON become samples."""

from typing import Any

import pytest

from components.errors import DataError
from components.records import Kind
from runner.serving.asked_question import Choices, Defaults, Question, as_sample


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"text": 5}, "question: got 5, expected a string"),
        ({"kind": ["qa"]}, r"kind: got \['qa'\], expected a string"),
        ({"history": 5}, "history: got 5, expected a list of turns"),
        ({"history": {"question": "answer"}}, "history: got .*, expected a list of turns"),
        ({"subset": 5, "corpus": None}, "subset: got 5, expected a string; corpus: got None, expected a string"),
        ({"text": "Who\ud800?"}, "^question: has half of a character .*, expected text in UTF-8$"),
        ({"history": [("When\udcff?", "1932"), ("Where?", "\ud83d")]}, "^history: has half of a character [^;]*$"),
        ({"where": [1]}, r"where: got \[1\], expected an object"),
    ],
)
def test_unusable_question_fields_are_reported(asked: dict[str, Any], message: str) -> None:
    question = Question(**{"text": "Who?", **asked})
    with pytest.raises(DataError, match=message):
        as_sample(question, Defaults(Kind.QA.value, Kind.CONVERSATION.value), Choices((), (), has_filter=True))
