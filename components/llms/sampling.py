"""The fields that say how a model draws its tokens, which all backends have alike."""

from typing import Protocol


class Sampling(Protocol):
    """Fields of a language model. A `temperature` of 0 takes the likeliest token, None is the server's own choice."""

    @property
    def temperature(self) -> float | None:
        """At least 0."""

    @property
    def top_p(self) -> float | None:
        """Share of the likeliest tokens that are drawn from."""

    @property
    def max_new_tokens(self) -> int:
        """That it writes at most."""

    @property
    def stop(self) -> tuple[str, ...]:
        """Words before which the text ends."""


def sampling_mistakes(model: Sampling) -> list[str]:
    """What is wrong with these fields."""
    mistakes = []
    if model.temperature is not None and not model.temperature >= 0:
        mistakes.append(f"temperature: got {model.temperature}, expected at least 0")
    if not model.max_new_tokens >= 1:
        mistakes.append(f"max_new_tokens: got {model.max_new_tokens}, expected at least 1")
    if model.top_p is not None and not 0 < model.top_p <= 1:
        mistakes.append(f"top_p: got {model.top_p}, expected a share in (0, 1]")
    if "" in model.stop:
        mistakes.append("stop: holds an empty word, before which every text ends; expected words")
    return mistakes
