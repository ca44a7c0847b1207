"""Queries that a language model writes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.model_reply import copies_placeholder, json_values, repeats_heading, strip_thoughts
from components.asking.prompt_parts import chat_messages, questions_by_line
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.asking.written_texts import wording_problems
from components.fields import added_later
from components.json_value import Json
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Expansion, Kind, Request, Sample
from components.text.languages import languages_of_prompts
from components.text.templates import fill

_WORD = re.compile(r"\w")

_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"texts": {"type": "array", "items": {"type": "string"}}},
    "required": ["texts"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class WrittenQueries:
    """Up to `n_texts` texts about a question, written by a model and used as separate queries or, `joined`, as one.

    `with_question` puts the question before each query. `instruction` has the placeholders {question} and {n}, the
    number of texts. In a conversation, the questions of the last `n_turns` turns precede the question, one per line.
    Earlier answers are never shown, because they are the references of their turns. With `only_in_conversations`,
    questions without earlier turns are not expanded. Blank questions are never expanded.

    The reply is a JSON object with a list `texts`. With `takes_plain_text`, a reply without JSON is the text, if there
    is a single query; small models reply like this. Instead of a list, a single query may be a string. Placeholders
    copied from the form in `instruction` are not texts, and neither is a plain text with a heading of `instruction`. A
    reply without text is unreadable: the request is repeated with `reminder`, up to `max_attempts` attempts in total.
    After that, the question is the query. Texts beyond `n_texts` are ignored. Sources: docs/steps.md.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    n_texts: int = 1
    n_turns: int = 2
    joined: bool = False
    with_question: bool = False
    only_in_conversations: bool = False
    reranker_reads: bool = False
    max_attempts: int = 3
    takes_plain_text: bool = added_later(False)

    version: ClassVar[int] = 3

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, missing or unknown placeholders, and several texts for a
        reranker.
        """
        problems = too_small(self, n_texts=1, n_turns=0, max_attempts=1)
        problems += wording_problems(self.instruction, ["{question}"], ["{n}"])
        if self.reranker_reads and not self.gives_one_query:
            problems.append(
                f"reranker_reads: got true for up to {self.n_texts} queries, expected one query: n_texts=1 or "
                "joined=true"
            )
        return problems

    @property
    def gives_one_query(self) -> bool:
        """True if there is a single text, or if all texts form one query."""
        return self.joined or self.n_texts == 1

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of questions that the instructions are written for; () for any."""
        return languages_of_prompts(self.system, self.instruction)

    @property
    def variants(self) -> "tuple[WrittenQueries]":
        """The expander itself, its only variant."""
        return (self,)

    def write(self, samples: Sequence[Sample], ask: Ask) -> list[Expansion]:
        """Return the expansion per sample. All requests are sent in one call."""
        rows = [row for row, sample in enumerate(samples) if self._needs_request(sample)]
        inquiries = [self._inquiry(samples[row], f"sample {row}") for row in rows]
        replies = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        reply_by_row = dict(zip(rows, replies, strict=True))
        return [self._expansion(sample, reply_by_row.get(row)) for row, sample in enumerate(samples)]

    def _needs_request(self, sample: Sample) -> bool:
        return bool(sample.question.strip()) and (bool(sample.history) or not self.only_in_conversations)

    def _inquiry(self, sample: Sample, request_id: str) -> Inquiry[tuple[str, ...]]:
        earlier = [turn.question for turn in sample.history[-self.n_turns :]] if self.n_turns else []
        values = {"{question}": questions_by_line([*earlier, sample.question]), "{n}": str(self.n_texts)}
        messages = chat_messages(self.system, fill(self.instruction, values))
        about = Sample(request_id, "", Kind.QA, sample.question, ())  # a backend reads the messages only
        return Inquiry(Request(request_id, messages, about, (), _SCHEMA), self._read)

    def _read(self, reply: str) -> tuple[str, ...] | None:
        objects = [value for value in json_values(reply) if isinstance(value, dict)]
        if self.takes_plain_text and self.gives_one_query and not objects and (plain := self._plain_text(reply)):
            return (plain,)
        lists = [value["texts"] for value in objects if "texts" in value]
        texts = lists[0] if lists else []
        if isinstance(texts, str) and self.gives_one_query:
            texts = [texts]
        stripped = [text.strip() for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
        read = tuple(text for text in stripped if not copies_placeholder(text, self.instruction))
        return read[: self.n_texts] or None

    def _plain_text(self, reply: str) -> str:
        """Return the reply without thoughts and fences; "" for a list, text without a word, and a copied heading."""
        lines = strip_thoughts(reply).splitlines()
        text = "\n".join(line for line in lines if not line.strip().startswith("```")).strip()
        is_none = text.startswith("[") or not _WORD.search(text) or repeats_heading(text, self.instruction)
        return "" if is_none else text

    def _expansion(self, sample: Sample, reply: tuple[str, ...] | UnreadableReply | None) -> Expansion:
        if reply is None:
            return Expansion((sample.question,), is_asked=False)
        if isinstance(reply, UnreadableReply):
            return Expansion((sample.question,), unread=reply.unread, failed=reply.failed)
        texts = (" ".join(reply),) if self.joined else tuple(dict.fromkeys(reply))
        return Expansion(tuple(f"{sample.question}\n{text}" for text in texts) if self.with_question else texts)
