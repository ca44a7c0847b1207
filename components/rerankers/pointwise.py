"""A language model that grades the relevance of one hit per request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from components.asking.model_reply import parse_whole_number, read_object
from components.asking.prompt_parts import chat_messages
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import HitOrder, ScoreState
from components.rerankers.model_requests import request_about
from components.text.templates import fill, missing_placeholders


@dataclass(frozen=True)
class Pointwise:
    """Pointwise reranking: hits are sorted by the `grades` that a model gives them, the largest first.

    Hits with equal grades keep their order. Source: Zhuang et al. 2024, "Beyond Yes and No: Improving Zero-Shot LLM
    Rankers via Scoring Fine-Grained Relevance Labels", in the variant that reads grades and no probabilities.

    `instruction` has the placeholders {question} and {passage}. The reply is a JSON object with a `grade`. A reply
    without one of the grades is unreadable: the request is repeated with `reminder`, up to `max_attempts` attempts in
    total. A hit with an unreadable grade or a failed request keeps its place.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    grades: tuple[int, ...]
    depth: int = 20
    max_attempts: int = 3

    version: ClassVar[int] = 3

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, too few grades, and missing placeholders."""
        problems = too_small(self, depth=1, max_attempts=1)
        if len(set(self.grades)) < 2:
            problems.append(f"grades: got {list(self.grades)}, expected at least two")
        return problems + missing_placeholders("instruction", self.instruction, ("{question}", "{passage}"))

    def n_requests(self, n_hits: int) -> int:
        """Return one request per hit, or 0 if there are fewer than two hits."""
        return n_hits if n_hits > 1 else 0

    def n_rounds(self, n_hits: int) -> int:
        """Return 1: all requests are sent together."""
        return 1

    def rank(self, queries: Sequence[str], hits: Sequence[Sequence[str]], ask: Ask) -> list[HitOrder]:
        """Return the order per query. All requests are sent in one call."""
        inquiries = [
            self._inquiry(question, text, f"query {query}, hit {hit}")
            for query, (question, texts) in enumerate(zip(queries, hits, strict=True))
            for hit, text in enumerate(texts[: self.n_requests(len(texts))])
        ]
        read = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        replies = iter(read)
        return [_order(list(islice(replies, self.n_requests(len(texts)))), len(texts)) for texts in hits]

    def _inquiry(self, question: str, text: str, request_id: str) -> Inquiry[int]:
        messages = chat_messages(self.system, fill(self.instruction, {"{question}": question, "{passage}": text}))
        schema: Mapping[str, object] = {
            "type": "object",
            "properties": {"grade": {"type": "integer", "enum": list(self.grades)}},
            "required": ["grade"],
            "additionalProperties": False,
        }
        return Inquiry(request_about([text], question, messages, schema, request_id), self._read)

    def _read(self, text: str) -> int | None:
        grade = parse_whole_number((read_object(text, "grade") or {}).get("grade"))
        return grade if grade in self.grades else None


def _order(replies: Sequence[int | UnreadableReply], n_hits: int) -> HitOrder:
    """Sort the hits with a grade among their places."""
    graded = {position: reply for position, reply in enumerate(replies) if not isinstance(reply, UnreadableReply)}
    best_first = iter(sorted(graded, key=lambda position: -graded[position]))
    order = tuple(next(best_first) if position in graded else position for position in range(n_hits))
    why = {reply.state: reply.reason for reply in replies if isinstance(reply, UnreadableReply)}
    return HitOrder(order, why.get(ScoreState.UNPARSABLE, ""), why.get(ScoreState.FAILED, ""))
