"""Checks of a model's answers on arrival, before they are stored.

An answer that cannot be used later must not be stored. Secrets are removed, because a server may echo the API key.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from components.errors import ComponentError
from components.protocols import LLM
from components.records import Answer, AnswerState, ErrorClass, Request
from components.secrets.known import find_variables
from components.secrets.mask import Mask, current_mask, mask_text

_TEXTS = ("text", "error", "thoughts")
_COUNTS = ("n_prompt_tokens", "n_completion_tokens", "n_reasoning_tokens", "n_cached_tokens")
_SHOWN_CHARACTERS = 40


def validate_answers(llm: LLM, requests: Sequence[Request]) -> Iterator[Answer]:
    """Yield the answers of `llm` to `requests`, each checked.

    Raises ComponentError for an invalid value in a field, for an answer without a request, and for a second answer to
    one request.
    """
    waiting = {request.id for request in requests}
    name = type(llm).__name__
    answers: Iterable[object] = llm.generate(requests)
    with _closing(answers):
        for answer in answers:
            if not isinstance(answer, Answer):
                raise ComponentError(f"{name}.generate: got {_excerpt(answer)}, expected an Answer")
            if error := answer_error(answer):
                raise ComponentError(f"{name}.generate: Answer.{error}")
            if answer.request_id not in waiting:
                raise ComponentError(
                    f"{name}.generate: Answer.request_id: got {_excerpt(answer.request_id)}, which is "
                    "unknown or a repeat, expected one answer per request"
                )
            waiting.remove(answer.request_id)
            yield answer


def answer_error(answer: Answer) -> str:
    """Return an error for the first field with an invalid value. "" if all fields are valid."""
    values: Mapping[str, object] = vars(answer)  # a component may set values of any type
    if not isinstance(values["request_id"], str):
        return f"request_id: got {_excerpt(answer.request_id)}, expected the id of the request"
    if not isinstance(values["state"], AnswerState):
        return f"state: got {_excerpt(answer.state)}, expected an AnswerState such as AnswerState.OK"
    if not isinstance(values["error_class"], ErrorClass | None):
        return f"error_class: got {_excerpt(answer.error_class)}, expected an ErrorClass or None"
    for name in _TEXTS:
        if not isinstance(value := values[name], str):
            return f"{name}: got {_excerpt(value)}, expected a string"
    for name in _COUNTS:
        value = values[name]
        may_be_unknown = name != "n_cached_tokens"
        if not (value is None and may_be_unknown) and not (type(value) is int and value >= 0):
            return (
                f"{name}: got {_excerpt(value)}, expected an int of at least 0{', or None' if may_be_unknown else ''}"
            )
    latency = values["latency_s"]
    if isinstance(latency, bool) or not isinstance(latency, int | float) or not 0 <= latency < math.inf:
        return f"latency_s: got {_excerpt(latency)}, expected seconds as a finite number of at least 0"
    return ""


def _excerpt(value: object) -> str:
    text = mask_text(repr(value))  # we mask before we shorten, because a cut could hide only part of a key
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def hide_secrets(
    answers: Iterator[Answer], hidden: MutableMapping[str, Sequence[str]] | None = None
) -> Iterator[Answer]:
    """Yield the answers without the secrets of the environment. An answer without a secret is yielded unchanged.

    Errors are masked like log messages. In texts and thoughts, only known secrets are hidden. `hidden` gets
    the answers that this changes, by request, with the variables whose values were hidden.
    """
    mask: Mask | None = None
    with _closing(answers):
        for answer in answers:
            mask = mask or current_mask()  # the model has read its key by now
            safe = safe_answer(answer, mask)
            if hidden is not None and (safe.text, safe.thoughts) != (answer.text, answer.thoughts):
                hidden[answer.request_id] = sorted(
                    set(find_variables(f"{answer.thoughts}{answer.text}{answer.thoughts}"))
                )
            yield safe


def safe_answer(answer: Answer, mask: Mask) -> Answer:
    """Return the answer without secrets. Returns the same object if it contains none."""
    error = mask.message(answer.error) if answer.error else ""
    thoughts, text = mask.known_in_both(answer.thoughts, answer.text)
    if thoughts:  # an unfinished thought follows the text
        text, thoughts = mask.known_in_both(text, thoughts)
    if (error, text, thoughts) == (answer.error, answer.text, answer.thoughts):
        return answer
    return replace(answer, error=error, text=text, thoughts=thoughts)


@contextmanager
def _closing(answers: object) -> Iterator[None]:
    """Close a generator of answers with the context. Other iterables need no closing."""
    with ExitStack() as stack:
        if hasattr(answers, "close"):
            stack.callback(answers.close)
        yield
