"""What a run may ask for, told before anything is asked: if nothing is rejected, and at most."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.json_value import Json
from components.openai_server.gate import Tokens, n_tokens_at_most
from components.prices import Prices
from components.protocols import LLM
from components.testset.records import Topic
from components.testset.topics.voting import ADJUDICATOR
from runner.output.money import price_of
from runner.testset.settings import Generation

_BYTES = 3
"""Of a character, in most scripts."""

_TIMES_SHOWN = 3
"""So often the texts of an evidence set stand in one request at most: as extracts, as gold, as distractors."""


@dataclass(frozen=True)
class Asked:
    """Requests and what they take. `cost` is None where no price is known."""

    n_requests: int
    tokens: Tokens
    cost: float | None


@dataclass(frozen=True)
class Part:
    """One part of a run: `smooth` if the first drafts come through and every reply can be read at once, `most` with as
    many tries as are allowed, each draft corrected, and each reply asked for as often as allowed.
    """

    name: str
    smooth: Asked
    most: Asked


def bound(settings: Generation, n_documents: int, topics: Sequence[Topic]) -> list[Part]:
    """By part. Kept replies are not taken off. `topics` may be empty where they are yet to be drafted: then as many are
    counted as may be.
    """
    n_looked_at = min(n_documents, settings.waves.max_documents or n_documents)
    parts: list[Part] = []
    tree, voting = settings.topics.tree, settings.topics.voting
    if tree and tree.llm and not topics:
        parts.append(_part("topic tree", tree, tree.llm, tree.n_requests, tree.n_requests, settings))
    for name, voter in voting.models.items() if voting else ():
        n_smooth = 0 if name == ADJUDICATOR else n_looked_at
        parts.append(_part(f"vote: {name}", voting, voter, n_smooth, n_looked_at, settings))
    n_topics = len(topics) or int(getattr(tree, "n_topics", 1))
    n_wanted = n_topics * settings.per_cell
    n_tries = min(n_wanted * settings.waves.most_tries, n_looked_at * settings.evidence.most_sets)
    n_most_drafts = n_smooth_drafts = 0
    for name, task in settings.tasks.items():
        if task.llm:
            n_each = task.n_requests
            parts.append(_part(f"draft: {name}", task, task.llm, n_wanted * n_each, n_tries * n_each, settings))
        n_drafts = int(getattr(task, "most_turns", 1))
        n_smooth_drafts, n_most_drafts = n_smooth_drafts + n_wanted * n_drafts, n_most_drafts + n_tries * n_drafts
    for name, gate in settings.gates.items():
        if gate.llm:
            n_smooth, n_most = n_smooth_drafts * gate.n_requests, 2 * n_most_drafts * gate.n_requests
            parts.append(_part(f"gate: {name}", gate, gate.llm, n_smooth, n_most, settings))
    return parts


def total(asked: Sequence[Asked]) -> Asked:
    """Of all parts; without a cost if one of them has none."""
    costs = [own.cost for own in asked if own.n_requests]
    known = [cost for cost in costs if cost is not None]
    tokens = sum((own.tokens for own in asked), Tokens())
    return Asked(sum(own.n_requests for own in asked), tokens, sum(known) if len(known) == len(costs) else None)


def _part(name: str, component: object, llm: LLM, n_smooth: int, n_most: int, settings: Generation) -> Part:
    n_attempts = int(getattr(component, "max_attempts", 1))
    n_documents = max(task.n_documents for task in settings.tasks.values())
    n_bytes = sum(len(text.encode()) for text in _texts(component))
    n_bytes += n_documents * settings.evidence.n_characters * _BYTES * _TIMES_SHOWN
    each = Tokens(n_tokens_at_most(n_bytes), int(getattr(llm, "max_new_tokens", 0)))
    return Part(name, *(_asked(llm, each, n, settings.prices) for n in (n_smooth, n_most * n_attempts)))


def _asked(llm: LLM, each: Tokens, n_requests: int, prices: Prices) -> Asked:
    tokens = Tokens(each.n_prompt * n_requests, each.n_completion * n_requests)
    price = price_of(llm, prices)
    return Asked(n_requests, tokens, price.of(tokens.n_prompt, tokens.n_completion) if price else None)


def _texts(value: Json) -> Iterator[str]:
    """All texts in a component's fields: its wording, and little else."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _texts(getattr(value, field.name))
