"""A reader answers the questions of drafts, and its answers are held against the references."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.asking.reply import flag, read_object
from components.asking.templates import numbered
from components.asking.until_readable import Inquiry, Unread, ask_until_readable
from components.limits import too_small
from components.protocols import Ask
from components.testset.gates.asked import asked
from components.testset.gates.matching import matches_by_rule
from components.testset.records import Draft
from components.testset.wording import FLAG, TEXT, Wording, object_schema, quoted

_ANSWER = object_schema(reason=TEXT, answer=TEXT)
_MATCH = object_schema(reason=TEXT, match=FLAG)


@dataclass(frozen=True)
class Attempt:
    """What a reader answered, "" if it could not; whether that says what a reference says, and why so."""

    answer: str
    matches: bool
    reason: str


@dataclass(frozen=True)
class Reading:
    """How a reader is asked, with places for {question} and, where it has something to read, {documents}; and how its
    answer is compared, with places for {question}, {references} and {answer}.
    """

    reading: Wording
    comparing: Wording
    max_attempts: int

    def mistakes(self, *places: str) -> list[str]:
        """A number out of range, and wordings without their places: of the one that asks, these."""
        mistakes = too_small(self, max_attempts=1) + self.reading.mistakes("reading", places)
        return mistakes + self.comparing.mistakes("comparing", ("{question}", "{references}", "{answer}"))

    def attempts(self, tasks: Sequence[tuple[Draft, str]], ask: Ask) -> list[Attempt | Unread]:
        """One for each draft with what the reader is shown. All are asked at once, and then those compared that no
        rule decides.
        """
        inquiries = [self._to_read(f"reading {n}", draft, shown) for n, (draft, shown) in enumerate(tasks)]
        read = ask_until_readable(inquiries, ask, self.reading.reminder, self.max_attempts)
        settled = [
            reply if isinstance(reply, Unread) else _by_rule(reply, draft)
            for (draft, _), reply in zip(tasks, read, strict=True)
        ]
        places = [place for place, attempt in enumerate(settled) if attempt is None]
        inquiries = [self._to_compare(f"answer {place}", tasks[place][0], read[place]) for place in places]
        compared = ask_until_readable(inquiries, ask, self.comparing.reminder, self.max_attempts)
        of_place = dict(zip(places, compared, strict=True))
        return [attempt or of_place[place] for place, attempt in enumerate(settled)]

    def _to_read(self, request_id: str, draft: Draft, shown: str) -> Inquiry[Attempt]:
        values = {"{question}": asked(draft), "{documents}": shown}
        return Inquiry(self.reading.request(request_id, values, draft.kind, _ANSWER), _answer)

    def _to_compare(self, request_id: str, draft: Draft, attempt: Attempt | Unread) -> Inquiry[Attempt]:
        assert isinstance(attempt, Attempt)
        values = {
            "{question}": asked(draft),
            "{references}": numbered(draft.references),
            "{answer}": quoted(attempt.answer),
        }

        def read(reply: str) -> Attempt | None:
            found = read_object(reply, "match") or {}
            matches = flag(found.get("match"))
            reason = str(found.get("reason") or "").strip()
            return None if matches is None else Attempt(attempt.answer, matches, reason)

        return Inquiry(self.comparing.request(request_id, values, draft.kind, _MATCH), read)


def _answer(reply: str) -> Attempt | None:
    found = read_object(reply, "answer")
    if found is None or isinstance(found.get("answer"), dict):
        return None
    answer = found["answer"]
    said = ", ".join(map(str, answer)) if isinstance(answer, list) else str("" if answer is None else answer)
    return Attempt(said.strip(), matches=False, reason=str(found.get("reason") or "").strip())


def _by_rule(attempt: Attempt, draft: Draft) -> Attempt | None:
    """None where a model must compare."""
    matches = matches_by_rule(attempt.answer, draft.references)
    return None if matches is None else Attempt(attempt.answer, matches, attempt.reason)
