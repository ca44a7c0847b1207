"""Counts of readable and failed replies in steps of retrieval with a language model, and their usage."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from components.json_value import Json
from components.protocols import LLM
from runner.engine.ask import is_language_model, total


class ReplyOutcome(Protocol):
    """Outcome of one request: both fields are "" if the reply was read."""

    @property
    def unread(self) -> str:
        """Reason why the reply could not be read."""

    @property
    def failed(self) -> str:
        """Reason why the request failed."""


@dataclass(frozen=True)
class ReplyCounts:
    """Counts of one step. `replies` come from `reply_counts`, and `usage` counts the requests and their tokens."""

    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


def reply_counts(outcomes: Sequence[ReplyOutcome], n_judged: int) -> dict[str, Json]:
    """Count requests by outcome.

    The counts are `n_judged` requested items, `n_unparsable` unreadable replies, with the `commonest` reason, and
    `n_failed` failed requests, with the `commonest_error`.
    """
    unread = Counter(each.unread for each in outcomes if each.unread)
    failed = Counter(each.failed for each in outcomes if each.failed)
    return {
        "n_judged": n_judged,
        "n_unparsable": unread.total(),
        "commonest": unread.most_common(1)[0][0] if unread else "",
        "n_failed": failed.total(),
        "commonest_error": failed.most_common(1)[0][0] if failed else "",
    }


def sum_counts(counts: Sequence[ReplyCounts]) -> ReplyCounts:
    """Sum the counts of one step's stages, at least one. Reasons come from the stage with the most of them."""
    replies = {name: sum(each.replies[name] for each in counts) for name in ("n_judged", "n_unparsable", "n_failed")}
    for name, number in (("commonest", "n_unparsable"), ("commonest_error", "n_failed")):
        replies[name] = max(counts, key=lambda each: each.replies[number]).replies[name]
    usage = {name: total([each.usage[name] for each in counts]) for name in counts[0].usage}
    return ReplyCounts(replies, usage)


class ModelReplies(Protocol):
    """Result of a stage that sent requests to a language model."""

    @property
    def replies(self) -> Mapping[str, Json]:
        """Counts of replies: see `reply_counts`."""

    @property
    def usage(self) -> Mapping[str, int | None]:
        """Counts of requests and their tokens."""


def step_counts(step: str, results: Iterable[ModelReplies]) -> dict[str, ReplyCounts]:
    """Return the counts of a step by its name, summed over its stages with a language model. Return {} without such
    stages.
    """
    counts = [ReplyCounts(result.replies, result.usage) for result in results]
    return {step: sum_counts(counts)} if counts else {}


def model_problems(step: str, writes: str, models: Iterable[LLM]) -> list[str]:
    """Return error messages for models of a step (named by its axis) that are not language models.

    `writes` names the texts that the step needs, such as "headers".
    """
    return [
        f"{step}: got {type(llm).__name__} to write {writes}, expected a language model: for the cell (llm=openai "
        f"llm.model=...), or only for {step} (+llm@{step}.llm=openai {step}.llm.model=...)"
        for llm in models
        if not is_language_model(llm)
    ]
