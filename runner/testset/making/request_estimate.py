"""Estimates the requests of a run before the first one: if nothing is rejected, and at most."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from components.json_value import Json
from components.openai_server.limiter import Tokens, estimate_max_tokens
from components.protocols import LLM
from components.records import Documents, Evidence, Turn
from components.testset.protocols import DraftGate, Task
from components.testset.records import Draft, EvidenceSet, Extract, Topic
from components.testset.topics.drafting import DraftedTopics
from components.testset.topics.tree import MAX_NAME_CHARACTERS
from components.testset.topics.voting import ADJUDICATOR, Voter
from runner.output.money import model_price
from runner.testset.making.generation_settings import GenerationSettings

_BYTES = 3
"""Bytes of a character in most scripts."""

_REPLY = 2000
"""Characters of an unreadable reply that are shown to the model when the request is repeated."""

_TIMES_SHOWN = 3
"""Highest number of times that one request contains the texts of an evidence set: as extracts, as gold, as distractors.
"""


@dataclass(frozen=True)
class RequestEstimate:
    """Requests, their tokens and their cost, None if a price is unknown."""

    n_requests: int
    tokens: Tokens
    cost: float | None


@dataclass(frozen=True)
class PartBounds:
    """The bounds of one part of a run.

    `if_none_rejected` assumes that the first drafts pass, that every reply is readable, and that all topics have
    equally many documents. `maximum` assumes as many tries as allowed, a correction of each draft, and as many attempts
    per reply as allowed.
    """

    name: str
    if_none_rejected: RequestEstimate
    maximum: RequestEstimate


def estimate_requests(settings: GenerationSettings, documents: Documents, topics: Sequence[Topic]) -> list[PartBounds]:
    """Return the bounds by part, without subtracting cached replies.

    `topics` may be empty if they have yet to be drafted. The largest possible number of them counts then.
    """
    max_documents = min(len(documents), settings.waves.max_documents or len(documents))
    tree, voting = settings.topics.tree, settings.topics.voting
    n_topics = len(topics) or int(getattr(tree, "n_topics", 1))
    n_documents_needed = _n_documents_needed(settings, max_documents, n_topics)
    sizes = _Sizes(settings, documents, topics)
    parts: list[PartBounds] = []
    if tree and tree.llm and not topics:
        requests = Counter({0: tree.n_requests})
        parts.append(sizes.part("topic tree", tree, tree.llm, requests, tree.n_requests))
    voters = {**voting.voters, ADJUDICATOR: voting.adjudicator} if voting else {}
    for name, voter in voters.items():
        requests = Counter({1: 0 if name == ADJUDICATOR else n_documents_needed})
        parts.append(sizes.part(f"vote: {name}", voter, voter.llm, requests, max_documents))
    n_requested = n_topics * settings.per_cell
    n_tries = min(n_requested * settings.waves.most_tries, max_documents * settings.evidence.most_sets)
    for name, task in settings.tasks.items():
        if task.llm:
            requests = Counter({task.n_documents: n_requested * task.n_requests})
            parts.append(sizes.part(f"draft: {name}", task, task.llm, requests, n_tries * task.n_requests))
    drafts = [
        draft for name, task in settings.tasks.items() for draft in _typical_drafts(name, task, has_topic=bool(tree))
    ]
    for name, gate in settings.gates.items():
        if gate.llm:
            requests = Counter()
            for draft in drafts:
                requests[len(draft.evidence.extracts)] += n_requested * _n_requests(gate, draft)
            max_requests = 2 * n_tries * len(drafts) * gate.n_requests
            parts.append(sizes.part(f"gate: {name}", gate, gate.llm, requests, max_requests))
    return parts


def _n_documents_needed(settings: GenerationSettings, n_documents: int, n_topics: int) -> int:
    """Return the number of documents in the waves until there is enough evidence, if all topics have equally many."""
    n_sets, share = n_topics * settings.per_cell, settings.effective_removable_share
    shares = {share if task.removes_source else 1 - share for task in settings.tasks.values()}
    needed = min(n_documents, max(n_sets * len(settings.tasks), ceil(n_sets / min(shares))))
    n_examined = wave = 0
    while n_examined < needed:
        n_examined, wave = n_examined + settings.waves.size(wave), wave + 1
    return min(n_examined, n_documents)


def _typical_drafts(name: str, task: Task, *, has_topic: bool) -> list[Draft]:
    """Return the drafts of one evidence set of a task, without texts. Their gold is in all documents that stay in the
    corpus.
    """
    extracts = tuple(Extract(str(number), "", 0, 0, "") for number in range(task.n_documents))
    gold = tuple(Evidence(extract.document_id, 0, 0) for extract in extracts[int(task.removes_source) :])
    topic = "topic" if has_topic else ""
    evidence = EvidenceSet(name, name, topic, extracts)
    turns = range(int(getattr(task, "most_turns", 1)))
    return [
        Draft(name, name, topic, task.kind, evidence, "", (), gold=gold, history=(Turn("", ""),) * turn, turn=turn)
        for turn in turns
    ]


def _n_requests(gate: DraftGate, draft: Draft) -> int:
    """Return the number of requests about a draft."""
    if not gate.applies_to(draft):
        return 0
    max_documents = int(getattr(gate, "most_documents", 0))  # a gate that asks about each document has this number
    return gate.n_requests * len(draft.gold) // max_documents if max_documents else gate.n_requests


def total(bounds: Sequence[RequestEstimate]) -> RequestEstimate:
    """Return the sum of all parts. Its cost is None if a part with requests has no known cost."""
    costs = [one.cost for one in bounds if one.n_requests]
    known = [cost for cost in costs if cost is not None]
    tokens = sum((one.tokens for one in bounds), Tokens())
    return RequestEstimate(
        sum(one.n_requests for one in bounds), tokens, sum(known) if len(known) == len(costs) else None
    )


class _Sizes:
    """Sizes of requests, with documents of average size and with the largest."""

    def __init__(self, settings: GenerationSettings, documents: Documents, topics: Sequence[Topic]) -> None:
        self._settings = settings
        n_characters = max(1, sum(map(len, documents.texts)))
        n_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in documents.texts)
        self._mean_characters = n_characters / max(1, len(documents))
        self._bytes_of_character = n_bytes / n_characters
        self._n_bytes_of_topics = sum(len(text.encode()) for topic in topics for text in _texts(topic))
        self._max_documents = max(task.n_documents for task in settings.tasks.values())

    def part(
        self, name: str, component: object, llm: LLM, n_of_pieces: Mapping[int, int], max_requests: int
    ) -> PartBounds:
        """Return the bounds of one component. `n_of_pieces` maps the number of document pieces in a request to the
        number of such requests if no draft is rejected.
        """
        n_attempts = int(getattr(component, "max_attempts", 1))
        n_bytes = sum(len(text.encode()) for text in _texts(component)) + self._n_bytes_of_topics
        n_longest = self._n_longest_characters(component) * _BYTES + (n_attempts - 1) * _REPLY * _BYTES
        bounds = [
            self._bound(llm, n_bytes + self._n_typical_bytes(component, n_pieces), n)
            for n_pieces, n in n_of_pieces.items()
        ]
        return PartBounds(name, total(bounds), self._bound(llm, n_bytes + n_longest, max_requests * n_attempts))

    def _n_longest_characters(self, component: object) -> int:
        """Return the characters of documents in the component's longest request."""
        if isinstance(component, Voter):
            return component.n_characters
        if isinstance(component, DraftedTopics):
            return component.n_documents * (component.n_characters + MAX_NAME_CHARACTERS)
        n_distractors = int(getattr(component, "n_distractors", 0))
        return max(self._max_documents * _TIMES_SHOWN, n_distractors) * self._settings.evidence.n_characters

    def _n_typical_bytes(self, component: object, n_pieces: int) -> int:
        """Return the bytes of documents in a typical request of the component."""
        if isinstance(component, DraftedTopics):
            return self._n_longest_characters(component) * _BYTES
        longest = component.n_characters if isinstance(component, Voter) else self._settings.evidence.n_characters
        n_pieces = max(n_pieces, int(getattr(component, "n_distractors", 0)))
        return round(n_pieces * min(longest, self._mean_characters) * self._bytes_of_character)

    def _bound(self, llm: LLM, n_bytes: int, n_requests: int) -> RequestEstimate:
        each = Tokens(estimate_max_tokens(n_bytes), int(getattr(llm, "max_new_tokens", 0)))
        tokens = Tokens(each.n_prompt * n_requests, each.n_completion * n_requests)
        price = model_price(llm, self._settings.prices)
        return RequestEstimate(n_requests, tokens, price.cost(tokens.n_prompt, tokens.n_completion) if price else None)


def _texts(value: Json) -> Iterator[str]:
    """Yield all strings in a component's fields: its wording, and little else."""
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
