"""A reader that answers the questions of drafts, and the comparison of its answers with the references."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from components.asking.model_reply import parse_flag, read_object
from components.asking.prompt_parts import number_lines
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.limits import too_small
from components.protocols import Ask
from components.testset.gates.answer_matching import matches_by_rule
from components.testset.gates.gate_prompts import question_text
from components.testset.records import Draft
from components.testset.wording import FLAG, TEXT, Wording, object_schema, quote_text

_ANSWER = object_schema(reason=TEXT, answer=TEXT)
_MATCH = object_schema(reason=TEXT, match=FLAG)


@dataclass(frozen=True)
class ReadingAttempt:
    """A reader's answer ("" if it gave none), whether it matches a reference, and why."""

    answer: str
    matches: bool
    reason: str


@dataclass(frozen=True)
class Reading:
    """The prompts of a reader and of the comparison of its answer.

    `reading` has placeholders for {question} and, if the reader sees texts, {documents}. `comparing` has placeholders
    for {question}, {references} and {answer}.
    """

    reading: Wording
    comparing: Wording
    max_attempts: int

    def problems(self, *placeholders: str) -> list[str]:
        """Return error messages for a number out of range, and for placeholders missing in the wordings.

        `placeholders` are those that `reading` must have.
        """
        problems = too_small(self, max_attempts=1) + self.reading.problems("reading", placeholders)
        return problems + self.comparing.problems("comparing", ("{question}", "{references}", "{answer}"))

    def attempts(self, tasks: Sequence[tuple[Draft, str]], ask: Ask) -> list[ReadingAttempt | UnreadableReply]:
        """Return one attempt per task, which is a draft with the texts that the reader sees.

        All questions are asked in one call. A second call compares the answers that no rule decides.
        """
        inquiries = [self._reading_inquiry(f"reading {n}", draft, texts) for n, (draft, texts) in enumerate(tasks)]
        read = ask_until_readable(inquiries, ask, self.reading.reminder, self.max_attempts)
        settled: dict[int, ReadingAttempt | UnreadableReply] = {}
        undecided: dict[int, Inquiry[ReadingAttempt]] = {}
        for index, ((draft, _), reply) in enumerate(zip(tasks, read, strict=True)):
            if isinstance(reply, UnreadableReply):
                settled[index] = reply
            elif (matches := matches_by_rule(reply.answer, draft.references)) is not None:
                settled[index] = replace(reply, matches=matches)
            else:
                undecided[index] = self._comparing_inquiry(f"answer {index}", draft, reply)
        compared = ask_until_readable(list(undecided.values()), ask, self.comparing.reminder, self.max_attempts)
        settled |= dict(zip(undecided, compared, strict=True))
        return [settled[index] for index in range(len(tasks))]

    def _reading_inquiry(self, request_id: str, draft: Draft, texts: str) -> Inquiry[ReadingAttempt]:
        values = {"{question}": question_text(draft), "{documents}": texts}
        return Inquiry(self.reading.request(request_id, values, draft.kind, _ANSWER), _answer)

    def _comparing_inquiry(self, request_id: str, draft: Draft, attempt: ReadingAttempt) -> Inquiry[ReadingAttempt]:
        values = {
            "{question}": question_text(draft),
            "{references}": number_lines(draft.references),
            "{answer}": quote_text(attempt.answer),
        }

        def read(reply: str) -> ReadingAttempt | None:
            fields = read_object(reply, "match") or {}
            matches = parse_flag(fields.get("match"))
            reason = str(fields.get("reason") or "").strip()
            return None if matches is None else ReadingAttempt(attempt.answer, matches, reason)

        return Inquiry(self.comparing.request(request_id, values, draft.kind, _MATCH), read)


def _answer(reply: str) -> ReadingAttempt | None:
    fields = read_object(reply, "answer")
    if fields is None or isinstance(fields.get("answer"), dict):
        return None
    answer = fields["answer"]
    text = ", ".join(map(str, answer)) if isinstance(answer, list) else str("" if answer is None else answer)
    return ReadingAttempt(text.strip(), matches=False, reason=str(fields.get("reason") or "").strip())
