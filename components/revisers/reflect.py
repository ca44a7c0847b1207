"""A check of the answer against the passages, and one revision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.model_reply import copies_placeholder, read_object
from components.asking.readable_requests import Inquiry, ask_until_readable
from components.asking.written_texts import read_text, to_asked_text
from components.fields import runtime_only
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import AnswerCheck, AskedText, JudgeInput, Request
from components.revisers.support_check import PLACEHOLDERS, has_passages, messages_about, verify_answers
from components.text.templates import missing_placeholders

_LISTS = ("unsupported", "missing")
_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {name: {"type": "array", "items": {"type": "string"}} for name in _LISTS},
    "required": list(_LISTS),
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Reflect:
    """One request finds statements that the passages do not support, and statements that the answer lacks. If it finds
    any, a second request writes the answer again.

    `check_instruction` has the placeholders {question}, {passages} (numbered from 1) and {answer}. The reply is a JSON
    object with the lists `unsupported` and `missing`. `revise_instruction` also has {unsupported} and {missing}, one
    statement per line. An unreadable reply is requested again with `reminder`, up to `max_attempts` attempts in total.
    The first answer stays if the check has no readable reply, if the revision has none, or if there are no passages.

    With `checks_again`, the revised answers are checked by the same request. That changes no answer.
    Source: Asai et al. 2024, "Self-RAG", section 3: a critique of the support by passages, by a prompt instead of a
    trained model. The revision is ours, as in RAGSmith's reflection after the answer.
    """

    llm: LLM
    system: str
    check_instruction: str
    revise_instruction: str
    reminder: str
    max_attempts: int = 3
    checks_again: bool = runtime_only(True, "changes no answer")

    version: ClassVar[int] = 2
    n_requests: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, and for placeholders missing in the instructions."""
        return [
            *too_small(self, max_attempts=1),
            *missing_placeholders("check_instruction", self.check_instruction, PLACEHOLDERS),
            *missing_placeholders(
                "revise_instruction", self.revise_instruction, (*PLACEHOLDERS, "{unsupported}", "{missing}")
            ),
        ]

    def check_answers(self, answers: Sequence[JudgeInput], ask: Ask) -> list[AnswerCheck]:
        """Return the verdicts. An answer without passages is unsupported, without a request and without a finding."""
        with_passages = [item for item in answers if has_passages(item)]
        verdicts = iter(
            verify_answers(with_passages, self._check_request, self._read, ask, self.reminder, self.max_attempts)
        )
        return [next(verdicts) if has_passages(item) else AnswerCheck(False) for item in answers]

    def revise(self, answers: Sequence[JudgeInput], verdicts: Sequence[AnswerCheck], ask: Ask) -> list[AskedText]:
        """Return the revised answers, from one request each."""
        inquiries = [
            Inquiry(self._revision_request(*pair), self._read_answer) for pair in zip(answers, verdicts, strict=True)
        ]
        return [to_asked_text(reply) for reply in ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)]

    def _check_request(self, item: JudgeInput) -> Request:
        messages = messages_about(item, self.system, self.check_instruction)
        return Request(f"check {item.sample.id}", messages, item.sample, item.passages, _SCHEMA)

    def _revision_request(self, item: JudgeInput, verdict: AnswerCheck) -> Request:
        values = {f"{{{name}}}": "\n".join(f"- {text}" for text in getattr(verdict, name)) or "-" for name in _LISTS}
        messages = messages_about(item, self.system, self.revise_instruction, values)
        return Request(f"revise {item.sample.id}", messages, item.sample, item.passages)

    def _read_answer(self, reply: str) -> str | None:
        return read_text(reply, self.revise_instruction)

    def _read(self, reply: str) -> AnswerCheck | None:
        fields = read_object(reply, _LISTS[0]) or {}
        lists = [_statements(fields.get(name), self.check_instruction) for name in _LISTS]
        unsupported, missing = lists
        return None if unsupported is None or missing is None else AnswerCheck(not unsupported, unsupported, missing)


def _statements(value: object, instruction: str) -> tuple[str, ...] | None:
    """Return the statements in a list; None for another value, and for a list that repeats the form of the reply."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        return None
    texts = tuple(text.strip() for text in value if text.strip())
    return None if any(copies_placeholder(text, instruction) for text in texts) else texts
