"""Conversion of requests of the Responses API into questions."""

from typing import Any

import pytest

from components.errors import DataError
from runner.serving.agent import question_of
from runner.serving.asked_question import Question


def request(*messages: tuple[str, Any], **custom_inputs: Any) -> dict[str, Any]:
    said = [{"role": role, "content": content} for role, content in messages]
    return {"input": said, "custom_inputs": custom_inputs or None}


def test_last_message_is_the_question_and_earlier_messages_are_history() -> None:
    asked = request(
        ("system", "Be brief."),
        ("user", "When was it opened?"),
        ("assistant", "In 1932."),
        ("user", "By"),
        ("user", "whom?"),
        ("assistant", [{"type": "output_text", "text": "By the "}, {"type": "output_text", "text": "king."}]),
        ("user", [{"type": "input_text", "text": "And closed?"}]),
    )
    assert question_of(asked) == Question(
        "And closed?", history=[("When was it opened?", "In 1932."), ("By\nwhom?", "By the king.")]
    )


def test_a_conversation_may_begin_with_an_answer() -> None:
    asked = request(("assistant", "Hello."), ("assistant", "How can I help?"), ("user", "Who?"))
    assert question_of(asked).history == [("", "Hello.\nHow can I help?")]


def test_custom_inputs_become_question_options() -> None:
    assert question_of(request(("user", "Who?"), kind="qa", corpus="east/")) == Question(
        "Who?", kind="qa", history=[], corpus="east/"
    )


def test_requests_without_a_user_question_are_rejected() -> None:
    for asked in (request(), request(("system", "Be brief.")), request(("user", "Who?"), ("assistant", "She."))):
        with pytest.raises(DataError, match="expected messages, the last one from the user"):
            question_of(asked)
    with pytest.raises(DataError, match="custom_inputs: got mood, expected one or more of kind, subset"):
        question_of(request(("user", "Who?"), mood="good"))
