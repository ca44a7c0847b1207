"""Facts of chunks that a language model reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.asking.prompt_parts import chat_messages
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.asking.written_texts import wording_problems
from components.fact_graph.fact_replies import KEY, read_facts
from components.json_value import Json
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import FactsOfChunk, Kind, Passages, Request, Sample
from components.text.languages import languages_of_prompts
from components.text.templates import fill

_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {KEY: {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}},
    "required": [KEY],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class WrittenFacts:
    """Has a language model read up to `max_facts` facts from each chunk: (subject, relation, object).

    `instruction` has the placeholder {passage}, and may have {title}, the title of the document. The reply is a JSON
    object with a list `facts` of lists of three texts; see `read_facts`. After an unreadable reply the request is sent
    again with `reminder`, up to `max_attempts` attempts in total. A chunk without a readable reply has no facts. A
    blank chunk has none either, and no request is sent.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    max_facts: int = 50
    max_attempts: int = 3

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers below 1, and for missing or unknown placeholders."""
        problems = too_small(self, max_facts=1, max_attempts=1)
        return problems + wording_problems(self.instruction, ["{passage}"], ["{title}"])

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of passages that the instruction is written for; () for any."""
        return languages_of_prompts(self.system, self.instruction)

    def read_facts(self, chunks: Passages, ask: Ask) -> list[FactsOfChunk]:
        """Return the outcome of the request for each chunk. All requests are sent in one call."""
        titles = list(chunks.titles) or [""] * len(chunks)
        rows = [row for row, text in enumerate(chunks.texts) if text.strip()]
        inquiries = [self._inquiry(f"chunk {row}", chunks.texts[row], titles[row]) for row in rows]
        replies = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        facts_by_row = dict(zip(rows, map(_outcome, replies), strict=True))
        return [facts_by_row.get(row, FactsOfChunk()) for row in range(len(chunks))]

    def _inquiry(self, request_id: str, text: str, title: str) -> Inquiry[FactsOfChunk]:
        messages = chat_messages(self.system, fill(self.instruction, {"{title}": title, "{passage}": text}))
        about = Sample(request_id, "", Kind.QA, text, ())  # a backend reads the messages only
        return Inquiry(Request(request_id, messages, about, (), _SCHEMA), self._read)

    def _read(self, reply: str) -> FactsOfChunk | None:
        return read_facts(reply, self.instruction, self.max_facts)


def _outcome(reply: FactsOfChunk | UnreadableReply) -> FactsOfChunk:
    return FactsOfChunk(unread=reply.unread, failed=reply.failed) if isinstance(reply, UnreadableReply) else reply
