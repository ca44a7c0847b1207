"""Further searches for texts that a language model writes, one after another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.model_reply import copies_placeholder, json_values, parse_flag, strip_thoughts
from components.asking.prompt_parts import chat_messages, number_lines
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.asking.written_texts import wording_problems
from components.json_value import Json
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind, NextSearch, Passage, Request, Sample, SearchTrail
from components.text.languages import languages_of_prompts
from components.text.templates import fill

_NONE = "-"
"""Placeholder for an empty list in a prompt."""
_MAX_CHARACTERS = 2000
"""Characters of a query or a thought, beyond which a reply is not one."""


@dataclass(frozen=True)
class AskedSearches:
    """Up to `max_searches` searches per question: after each, a language model writes the text of the next one.

    `instruction` has the placeholders {question}, {passages} and {steps}: the passages found so far, numbered, and what
    the model wrote before, one text per line. The model reads `n_passages` new passages of each search. The reply is a
    JSON object with the text `next`, or with `done`: true. With `with_thoughts`, it also has a `thought`, which
    precedes its text among the steps. A reply is unreadable if it has none of these fields, more than 2,000 characters
    in one of them, or a copy of the form in `instruction`. The request is then repeated with `reminder`, up to
    `max_attempts` attempts in total. The search also ends if the text repeats the question or an earlier text, because
    it would find the same again. Sources: docs/steps.md.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    max_searches: int = 3
    n_passages: int = 4
    with_thoughts: bool = False
    max_attempts: int = 3

    version: ClassVar[int] = 2
    decides_first: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, and for missing or unknown placeholders."""
        problems = too_small(self, max_searches=2, n_passages=1, max_attempts=1)
        return problems + wording_problems(self.instruction, ["{question}", "{passages}", "{steps}"])

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of questions that the instruction is written for; () for any."""
        return languages_of_prompts(self.system, self.instruction)

    def decide(self, trails: Sequence[SearchTrail], ask: Ask) -> list[NextSearch]:
        """Return the next search per trail. All requests are sent in one call."""
        inquiries = [self._inquiry(trail, f"trail {row}") for row, trail in enumerate(trails)]
        replies = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        return [_decision(trail, reply) for trail, reply in zip(trails, replies, strict=True)]

    def _inquiry(self, trail: SearchTrail, request_id: str) -> Inquiry[NextSearch]:
        passages = [passage for step_passages in trail.passages for passage in step_passages]
        steps = [text for step in trail.steps for text in (step.thought, step.query) if text]
        values = {
            "{question}": trail.question,
            "{passages}": number_lines([passage_line(passage) for passage in passages]) or _NONE,
            "{steps}": "\n".join(steps) or _NONE,
        }
        messages = chat_messages(self.system, fill(self.instruction, values))
        about = Sample(request_id, "", Kind.QA, trail.question, ())  # a backend reads the messages only
        return Inquiry(Request(request_id, messages, about, tuple(passages), self._schema), self._read)

    @property
    def _schema(self) -> Mapping[str, Json]:
        texts = ["thought", "next"] if self.with_thoughts else ["next"]
        return {
            "type": "object",
            "properties": {**{name: {"type": "string"} for name in texts}, "done": {"type": "boolean"}},
            "required": [*texts, "done"],
            "additionalProperties": False,
        }

    def _read(self, reply: str) -> NextSearch | None:
        """Return the decision; None for an unreadable reply."""
        for value in json_values(strip_thoughts(reply)):
            if not isinstance(value, dict) or not {"next", "done"} & set(value):
                continue
            text, thought = _line(value.get("next")), _line(value.get("thought")) if self.with_thoughts else ""
            is_done = parse_flag(value["done"]) if "done" in value else False
            if is_done is None or not all(self._is_text(line) for line in (text, thought)):
                return None
            if is_done:
                return NextSearch("", thought or text)
            return NextSearch(text, thought) if text else None
        return None

    def _is_text(self, text: str) -> bool:
        return not text or (len(text) <= _MAX_CHARACTERS and not copies_placeholder(text, self.instruction))


def passage_line(passage: Passage) -> str:
    """Return a passage on one line, after its title."""
    return " ".join(f"{passage.title}: {passage.text}".split() if passage.title else passage.text.split())


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _decision(trail: SearchTrail, reply: NextSearch | UnreadableReply) -> NextSearch:
    if isinstance(reply, UnreadableReply):
        return NextSearch("", unread=reply.unread, failed=reply.failed)
    earlier = [trail.question.split("\n")[-1], *(step.query for step in trail.steps)]
    is_repeated = reply.query.casefold() in {_line(text).casefold() for text in earlier}
    return NextSearch("", reply.thought or reply.query) if reply.query and is_repeated else reply
