"""Removal of secrets from answers before they are stored: a server may echo the API key."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

from components.records import Answer
from components.secrets.mask import Mask, current_mask


def without_secrets_in(answers: Iterator[Answer]) -> Iterator[Answer]:
    """Yield the answers without the secrets of the environment. An answer without a secret is yielded unchanged.

    Errors are masked like log messages. In texts and thoughts, only known secrets are hidden.
    """
    mask: Mask | None = None
    source: Any = answers
    with closing(source) if hasattr(source, "close") else nullcontext():
        for answer in source:
            mask = mask or current_mask()  # the model has read its key by now
            yield safe_answer(answer, mask)


def safe_answer(answer: Answer, mask: Mask) -> Answer:
    """Return the answer without secrets. Returns the same object if it contains none."""
    error = mask.message(answer.error) if answer.error else ""
    text, thoughts = mask.known(answer.text), mask.known(answer.thoughts)
    if (error, text, thoughts) == (answer.error, answer.text, answer.thoughts):
        return answer
    return replace(answer, error=error, text=text, thoughts=thoughts)
