"""A compressor that keeps the sentences that a language model selects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.model_reply import json_values, parse_whole_number, strip_thoughts
from components.asking.prompt_parts import chat_messages, number_lines
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.compressors.sentence_pieces import Sentence, join_sentences, keep_whole, split_passages
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import CompressedPassages, Kind, Passage, Request, Sample
from components.text.templates import fill, missing_placeholders

_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": {"type": "integer"}}},
    "required": ["sentences"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class SentencesByModel:
    """Keeps the sentences of a prompt's passages that a language model selects, in their order. Sends one request per
    query.

    `instruction` has the placeholders {question}, {sentences} (numbered from 1) and {n}, their number. The reply is a
    JSON object with a list `sentences`, which may be empty: the prompt then has no passages. A reply that names an
    unknown sentence is unreadable: the request is repeated with `reminder`, up to `max_attempts` attempts in total.
    After that, or after a failed request, the passages stay whole. Source: Xu et al. 2024, "RECOMP", section 3:
    compression by selection, empty if nothing helps. Selection by a prompt is our addition.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    max_attempts: int = 3

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, and for placeholders missing in the instruction."""
        problems = too_small(self, max_attempts=1)
        return problems + missing_placeholders("instruction", self.instruction, ("{question}", "{sentences}"))

    def compress_by_asking(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], ask: Ask
    ) -> list[CompressedPassages]:
        """Return the pieces per query, from one call of `ask` for all queries with sentences."""
        sentences = [split_passages(row) for row in passages]
        with_sentences = [query for query, row in enumerate(sentences) if row]
        inquiries = [self._inquiry(queries[query], sentences[query], f"query {query}") for query in with_sentences]
        read = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        replies = dict(zip(with_sentences, read, strict=True))
        return [_compress(replies.get(query), sentences[query], row) for query, row in enumerate(passages)]

    def _inquiry(self, question: str, sentences: Sequence[Sentence], request_id: str) -> Inquiry[list[int]]:
        texts = [" ".join(sentence.text.split()) for sentence in sentences]
        values = {"{question}": question, "{sentences}": number_lines(texts), "{n}": str(len(texts))}
        messages = chat_messages(self.system, fill(self.instruction, values))
        sample = Sample(request_id, "", Kind.QA, question, ())
        request = Request(request_id, messages, sample, tuple(map(Passage, texts)), _SCHEMA)
        return Inquiry(request, lambda reply: _read(reply, len(texts)))


def _compress(
    reply: list[int] | UnreadableReply | None, sentences: Sequence[Sentence], passages: Sequence[str]
) -> CompressedPassages:
    if reply is None:
        return keep_whole(passages)
    if isinstance(reply, UnreadableReply):
        return keep_whole(passages, reply.unread, reply.failed)
    return join_sentences([sentences[number] for number in reply], len(passages))


def _read(reply: str, n_sentences: int) -> list[int] | None:
    """Return the positions of the selected sentences, each once; None for an unreadable reply."""
    for value in json_values(strip_thoughts(reply)):
        if isinstance(value, dict) and isinstance(value.get("sentences"), list):
            numbers = [parse_whole_number(number) for number in value["sentences"]]
            if all(number is not None and 1 <= number <= n_sentences for number in numbers):
                return sorted({number - 1 for number in numbers if number is not None})
            return None
    return None
