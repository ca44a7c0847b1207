"""Conversion of requests of the Responses API into questions."""

import json
from inspect import unwrap
from types import SimpleNamespace
from typing import Any

import pytest

from components.errors import ComponentError, DataError, LLMError, RagGridError
from runner.serving.agent import make_agent, read_question
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
    assert read_question(asked) == Question(
        "And closed?", history=[("When was it opened?", "In 1932."), ("By\nwhom?", "By the king.")]
    )


def test_agent_conversation_may_begin_with_an_answer() -> None:
    asked = request(("assistant", "Hello."), ("assistant", "How can I help?"), ("user", "Who?"))
    assert read_question(asked).history == [("", "Hello.\nHow can I help?")]


def test_agent_ignores_message_parts_without_text() -> None:
    asked = request(("user", [{"type": "input_image", "text": None}, {"type": "input_text", "text": "Who?"}]))
    assert read_question(asked).text == "Who?"


def test_agent_custom_inputs_become_question_options() -> None:
    assert read_question(request(("user", "Who?"), kind="qa", corpus="east/")) == Question(
        "Who?", kind="qa", history=[], corpus="east/"
    )


def test_agent_rejects_requests_without_a_user_question() -> None:
    for asked in (request(), request(("system", "Be brief."))):
        with pytest.raises(DataError, match="input: got no messages, expected at least one, the last one from 'user'"):
            read_question(asked)
    with pytest.raises(DataError, match="input: got the last message from 'assistant', expected one from 'user'"):
        read_question(request(("user", "Who?"), ("assistant", "She.")))
    with pytest.raises(DataError, match="custom_inputs: unknown field 'mood', expected one of kind, subset"):
        read_question(request(("user", "Who?"), mood="good"))


@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DataError("question: is empty"), 400),
        (LLMError("the language model gave no answer: p4Vq9-Zt7Lw2Kx8Rb"), 503),
        (ComponentError("a component broke its contract"), 500),
    ],
)
def test_agent_errors_reach_clients_as_one_message(
    error: RagGridError, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow.exceptions import MlflowException
    from mlflow.types.responses import ResponsesAgentRequest

    monkeypatch.setenv("MY_API_KEY", "p4Vq9-Zt7Lw2Kx8Rb")

    def fail(question: Question) -> None:
        raise error

    agent = make_agent()
    agent.pipeline = SimpleNamespace(has_model=True, answer=fail)
    with pytest.raises(MlflowException) as raised:
        unwrap(type(agent).predict)(agent, ResponsesAgentRequest(input=[{"role": "user", "content": "Who?"}]))
    assert raised.value.get_http_status_code() == status
    sent = json.loads(raised.value.serialize_as_json())
    assert sent["message"] == str(error)
    assert "stack_trace" not in sent
    assert "p4Vq9" not in str(sent)
