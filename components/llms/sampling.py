"""Sampling fields that all backends share."""

from typing import Protocol


class Sampling(Protocol):
    """Sampling fields. A `temperature` of 0 takes the likeliest token; None leaves the choice to the server."""

    @property
    def temperature(self) -> float | None:
        """Sampling temperature, at least 0."""

    @property
    def top_p(self) -> float | None:
        """Share of probability from whose likeliest tokens the model samples."""

    @property
    def max_new_tokens(self) -> int:
        """Maximum number of tokens that the model writes."""

    @property
    def stop(self) -> tuple[str, ...]:
        """Words before which the text ends."""


def sampling_problems(model: Sampling) -> list[str]:
    """Return one message per error in the sampling fields."""
    problems = []
    if model.temperature is not None and not model.temperature >= 0:
        problems.append(f"temperature: got {model.temperature}, expected at least 0")
    if not model.max_new_tokens >= 1:
        problems.append(f"max_new_tokens: got {model.max_new_tokens}, expected at least 1")
    if model.top_p is not None and not 0 < model.top_p <= 1:
        problems.append(f"top_p: got {model.top_p}, expected a share in (0, 1]")
    if "" in model.stop:
        problems.append(
            "stop: contains an empty string, which would end every text immediately, expected non-empty strings"
        )
    return problems
