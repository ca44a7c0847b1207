"""An abstention in place of an answer that the passages do not support."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.model_reply import parse_flag, read_object
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import AnswerCheck, AskedText, JudgeInput, Request
from components.revisers.support_check import PLACEHOLDERS, has_passages, messages_about, verify_answers
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.refusals import is_refusal
from components.text.templates import missing_placeholders

_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "supported": {"type": "boolean"}},
    "required": ["reason", "supported"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class AbstainIfUnsupported:
    """One request decides whether the passages support the answer. If they do not, `abstention` replaces it.

    `instruction` has the placeholders {question}, {passages} (numbered from 1) and {answer}. The reply is a JSON object
    with `reason` and the Boolean `supported`. An unreadable reply is requested again with `reminder`, up to
    `max_attempts` attempts in total. After that, or after a failed request, the answer stays. Without passages, the
    answer is replaced without a request. An answer that abstains already (`components.text.refusals`) is not checked.
    Source: Asai et al. 2024, "Self-RAG", section 3: a critique of the support by passages, by a prompt instead of a
    trained model. The abstention is ours.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    abstention: str
    max_attempts: int = 3

    version: ClassVar[int] = 2 + ANSWER_FORM_VERSION
    n_requests: ClassVar[int] = 1
    checks_again: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, for missing placeholders, and for an empty abstention."""
        problems = too_small(self, max_attempts=1) + missing_placeholders("instruction", self.instruction, PLACEHOLDERS)
        return problems if self.abstention.strip() else [*problems, "abstention: got none, expected a text"]

    def check_answers(self, answers: Sequence[JudgeInput], ask: Ask) -> list[AnswerCheck]:
        """Return the verdicts. The finding is the model's reason."""
        settled = [self._settle(item) for item in answers]
        unsettled = [item for item, verdict in zip(answers, settled, strict=True) if verdict is None]
        verdicts = iter(verify_answers(unsettled, self._request, _read, ask, self.reminder, self.max_attempts))
        return [next(verdicts) if verdict is None else verdict for verdict in settled]

    def revise(self, answers: Sequence[JudgeInput], verdicts: Sequence[AnswerCheck], ask: Ask) -> list[AskedText]:
        """Return the abstention for each answer."""
        return [AskedText(self.abstention) for _ in answers]

    def _settle(self, item: JudgeInput) -> AnswerCheck | None:
        if is_refusal(item.answer) or item.answer.strip() == self.abstention.strip():
            return AnswerCheck(None)
        return None if has_passages(item) else AnswerCheck(False, ("there are no passages",))

    def _request(self, item: JudgeInput) -> Request:
        messages = messages_about(item, self.system, self.instruction)
        return Request(f"check {item.sample.id}", messages, item.sample, item.passages, _SCHEMA)


def _read(reply: str) -> AnswerCheck | None:
    fields = read_object(reply, "supported")
    is_supported = None if fields is None else parse_flag(fields["supported"])
    if fields is None or is_supported is None:
        return None
    return AnswerCheck(is_supported, () if is_supported else (str(fields.get("reason") or "").strip(),))
