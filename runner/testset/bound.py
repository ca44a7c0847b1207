"""What a run may ask for at most, told before anything is asked."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.json_value import Json
from components.openai_server.gate import Tokens, n_tokens_at_most
from components.prices import Prices
from components.protocols import LLM
from components.testset.records import Topic
from runner.engine.ask import is_language_model
from runner.output.money import price_of
from runner.testset.settings import Generation

_BYTES = 3
"""Of a character, in most scripts."""

_TIMES_SHOWN = 3
"""So often the texts of an evidence set stand in one request at most: as extracts, as gold, as distractors."""


@dataclass(frozen=True)
class Asked:
    """Requests of one part of a run. `n_requests` if every reply can be read at once, `n_most` if each is asked for as
    often as allowed; `most` are the tokens of the latter. `cost` is None where no price is known.
    """

    part: str
    n_requests: int
    n_most: int
    most: Tokens
    cost: float | None


def bound(settings: Generation, n_documents: int, topics: Sequence[Topic]) -> list[Asked]:
    """By part. Kept replies are not taken off. `topics` may be empty where they are yet to be drafted: then as many
    cells are counted as evidence allows.
    """
    n_looked_at = min(n_documents, settings.waves.max_documents or n_documents)
    parts: list[Asked] = []
    tree, voting = settings.topics.tree, settings.topics.voting
    if tree and tree.llm and not topics:
        parts.append(_asked("topic tree", tree, tree.llm, tree.n_requests, settings))
    if voting:
        for name, voter in voting.models.items():
            parts.append(_asked(f"topics: {name}", voting, voter, n_looked_at, settings))
    n_most_sets = n_looked_at * settings.evidence.most_sets
    n_topics = len(topics) or (n_looked_at if tree else 1)
    tries = min(n_topics * settings.per_cell * settings.waves.most_tries, n_most_sets)
    n_drafts = 0
    for name, task in settings.tasks.items():
        if task.llm:
            parts.append(_asked(f"drafts: {name}", task, task.llm, tries * task.n_requests, settings, task.n_documents))
        n_drafts += tries * getattr(task, "most_drafts", 1)
    n_documents_each = max(task.n_documents for task in settings.tasks.values())
    for name, gate in settings.gates.items():
        if gate.llm:  # twice, for what was corrected
            n_requests = 2 * n_drafts * gate.n_requests
            parts.append(_asked(f"gate: {name}", gate, gate.llm, n_requests, settings, n_documents_each))
    return parts


def _asked(
    part: str, component: object, llm: LLM, n_requests: int, settings: Generation, n_documents: int = 1
) -> Asked:
    n_most = n_requests * int(getattr(component, "max_attempts", 1))
    n_bytes = sum(len(text.encode()) for text in _texts(component))
    n_bytes += _TIMES_SHOWN * n_documents * settings.evidence.n_characters * _BYTES
    most = Tokens(n_tokens_at_most(n_bytes) * n_most, int(getattr(llm, "max_new_tokens", 0)) * n_most)
    return Asked(part, n_requests if is_language_model(llm) else 0, n_most, most, _cost(llm, most, settings.prices))


def _cost(llm: LLM, most: Tokens, prices: Prices) -> float | None:
    price = price_of(llm, prices)
    return price.of(most.n_prompt, most.n_completion) if price else None


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
