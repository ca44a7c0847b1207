"""Searches only as often as a language model expects a question to need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.model_reply import read_object
from components.asking.prompt_parts import chat_messages
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.asking.written_texts import wording_problems
from components.iterations.asked import AskedSearches
from components.json_value import Json
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind, NextSearch, Request, Sample, SearchTrail
from components.text.languages import languages_of_prompts
from components.text.templates import fill

NONE, ONE, SEVERAL = "none", "one", "several"

_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"searches": {"type": "string", "enum": [NONE, ONE, SEVERAL]}},
    "required": ["searches"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class AdaptiveSearches:
    """A language model says before the first search whether a question needs none, one or several searches.

    `instruction` has the placeholder {question}. The reply is a JSON object with `searches`: "none", "one" or
    "several". A question that needs none gets no passages. `then` decides about the further searches of those that need
    several. A reply that cannot be read after `max_attempts` requests, the later ones with `reminder`, leads to one
    search. Source: Jeong et al. 2024, "Adaptive-RAG", section 3.2. Its classifier is trained; here a prompt of ours
    classifies.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    then: AskedSearches
    max_attempts: int = 3

    version: ClassVar[int] = 2
    decides_first: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, and for missing or unknown placeholders."""
        problems = too_small(self, max_attempts=1) + wording_problems(self.instruction, ["{question}"])
        if self.then.llm != self.llm:
            problems.append(
                "then.llm: differs from llm, expected the same model, because one model makes all decisions"
            )
        return problems

    @property
    def max_searches(self) -> int:
        """Maximum number of searches per question."""
        return self.then.max_searches

    @property
    def n_passages(self) -> int:
        """Number of new passages that the model reads after each search."""
        return self.then.n_passages

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of questions that the instruction is written for; () for any."""
        return languages_of_prompts(self.system, self.instruction)

    def decide(self, trails: Sequence[SearchTrail], ask: Ask) -> list[NextSearch]:
        """Return the next search per trail: about the first search if it has no step, else about a further one."""
        if not all(trail.steps for trail in trails):
            return self._classify(trails, ask)
        further = [row for row, trail in enumerate(trails) if trail.steps[0].thought == SEVERAL]
        rest = [SearchTrail(trails[row].question, trails[row].passages, trails[row].steps[1:]) for row in further]
        decided = dict(zip(further, self.then.decide(rest, ask), strict=True))
        return [decided.get(row, NextSearch("", is_asked=False)) for row in range(len(trails))]

    def _classify(self, trails: Sequence[SearchTrail], ask: Ask) -> list[NextSearch]:
        inquiries = [self._inquiry(trail.question, f"question {row}") for row, trail in enumerate(trails)]
        replies = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        return [_first_search(trail.question, reply) for trail, reply in zip(trails, replies, strict=True)]

    def _inquiry(self, question: str, request_id: str) -> Inquiry[str]:
        messages = chat_messages(self.system, fill(self.instruction, {"{question}": question}))
        about = Sample(request_id, "", Kind.QA, question, ())  # a backend reads the messages only
        return Inquiry(Request(request_id, messages, about, (), _SCHEMA), _read)


def _read(reply: str) -> str | None:
    """Return the class; None for an unreadable reply."""
    value = read_object(reply, "searches")
    named = str(value["searches"]).strip().lower() if value else ""
    return named if named in (NONE, ONE, SEVERAL) else None


def _first_search(question: str, reply: str | UnreadableReply) -> NextSearch:
    if isinstance(reply, UnreadableReply):
        return NextSearch(question, ONE, unread=reply.unread, failed=reply.failed)
    return NextSearch("" if reply == NONE else question, reply)
