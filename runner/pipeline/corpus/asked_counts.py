"""How well the language model was understood that a step of retrieval asked, and what that cost."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from components.json_value import Json
from components.protocols import LLM
from runner.engine.ask import is_language_model, total


class Told(Protocol):
    """What came of asking about one thing: "" for both if nothing went wrong."""

    @property
    def unread(self) -> str:
        """Why the reply could not be read."""

    @property
    def failed(self) -> str:
        """Why the request failed."""


@dataclass(frozen=True)
class AskedCounts:
    """`replies` are as `reply_counts` gives them, `usage` is what the requests cost."""

    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


def reply_counts(told: Sequence[Told], n_judged: int) -> dict[str, Json]:
    """Of how many things the model was asked about (`n_judged`), of how many a reply could not be read (`n_unparsable`,
    with the `commonest` reason) or a request failed (`n_failed`, with the `commonest_error`).
    """
    unread = Counter(each.unread for each in told if each.unread)
    failed = Counter(each.failed for each in told if each.failed)
    return {
        "n_judged": n_judged,
        "n_unparsable": unread.total(),
        "commonest": unread.most_common(1)[0][0] if unread else "",
        "n_failed": failed.total(),
        "commonest_error": failed.most_common(1)[0][0] if failed else "",
    }


def summed(counts: Sequence[AskedCounts]) -> AskedCounts:
    """Of several stages of one step (at least one): the commonest reasons are those of the stage with most of them."""
    replies = {name: sum(each.replies[name] for each in counts) for name in ("n_judged", "n_unparsable", "n_failed")}
    for name, number in (("commonest", "n_unparsable"), ("commonest_error", "n_failed")):
        replies[name] = max(counts, key=lambda each: each.replies[number]).replies[name]
    usage = {name: total([each.usage[name] for each in counts]) for name in counts[0].usage}
    return AskedCounts(replies, usage)


class Asked(Protocol):
    """What a stage made that asked a language model."""

    @property
    def replies(self) -> Mapping[str, Json]:
        """As `reply_counts` gives them."""

    @property
    def usage(self) -> Mapping[str, int | None]:
        """What the requests cost."""


def counts_of_step(step: str, asked: Iterable[Asked]) -> dict[str, AskedCounts]:
    """By the name of the step, the sum over its stages that asked a language model; {} where none did."""
    counts = [AskedCounts(own.replies, own.usage) for own in asked]
    return {step: summed(counts)} if counts else {}


def model_mistakes(step: str, writes: str, models: Iterable[LLM]) -> list[str]:
    """Those that a step (by its axis) asks and that are no language models; `writes` says what they are to write."""
    return [
        f"{step}: got {type(llm).__name__} to write {writes}, expected a language model: for the cell (llm=openai "
        f"llm.model=...), or for the {step} alone (+llm@{step}.llm=openai {step}.llm.model=...)"
        for llm in models
        if not is_language_model(llm)
    ]
