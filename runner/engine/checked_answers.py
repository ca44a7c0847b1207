"""Checks of a model's answers on arrival: an answer that cannot be used later must not be stored."""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from typing import Any

from components.errors import ComponentError
from components.protocols import LLM
from components.records import Answer, AnswerState, ErrorClass, Request
from components.secrets.mask import masked

_TEXTS = ("text", "error", "thoughts")
_COUNTS = ("n_prompt_tokens", "n_completion_tokens", "n_reasoning_tokens", "n_cached_tokens")
_SHOWN_CHARACTERS = 40


def checked_answers(llm: LLM, requests: Sequence[Request]) -> Iterator[Answer]:
    """Yield the answers of `llm` to `requests`, each checked.

    Raises ComponentError for an invalid value in a field, for an answer without a request, and for a second answer to
    one request.
    """
    waiting = {request.id for request in requests}
    name = type(llm).__name__
    answers: Any = llm.generate(requests)
    with closing(answers) if hasattr(answers, "close") else nullcontext():
        for answer in answers:
            if not isinstance(answer, Answer):
                raise ComponentError(f"{name}.generate: got {_shown(answer)}, expected an Answer")
            if mistake := answer_mistake(answer):
                raise ComponentError(f"{name}.generate: Answer.{mistake}")
            if answer.request_id not in waiting:
                raise ComponentError(
                    f"{name}.generate: Answer.request_id: got {_shown(answer.request_id)}, which was not requested or "
                    "was answered before; expected one answer per request"
                )
            waiting.remove(answer.request_id)
            yield answer


def answer_mistake(answer: Any) -> str:
    """Return the first field with an invalid value, with that value and the expected one. "" if all fields are
    valid.
    """
    if not isinstance(answer.request_id, str):
        return f"request_id: got {_shown(answer.request_id)}, expected the id of the request"
    if not isinstance(answer.state, AnswerState):
        return f"state: got {_shown(answer.state)}, expected an AnswerState such as AnswerState.OK"
    if not (answer.error_class is None or isinstance(answer.error_class, ErrorClass)):
        return f"error_class: got {_shown(answer.error_class)}, expected an ErrorClass or None"
    for name in _TEXTS:
        if not isinstance(value := getattr(answer, name), str):
            return f"{name}: got {_shown(value)}, expected a string"
    for name in _COUNTS:
        value = getattr(answer, name)
        may_be_unknown = name != "n_cached_tokens"
        if not (value is None and may_be_unknown) and not (type(value) is int and value >= 0):
            return f"{name}: got {_shown(value)}, expected an int of 0 or more{', or None' if may_be_unknown else ''}"
    latency = answer.latency_s
    if isinstance(latency, bool) or not isinstance(latency, int | float) or not 0 <= latency < math.inf:
        return f"latency_s: got {_shown(latency)}, expected seconds as a finite number of 0 or more"
    return ""


def _shown(value: object) -> str:
    text = masked(repr(value))  # before shortening, because a cut could hide only part of a key
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
