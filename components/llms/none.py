"""A cell without a generator, for sweeps that compare retrieval alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Request


@dataclass(frozen=True)
class NoGenerator:
    """Sends no requests. All requests end as NOT_ASKED, and answer metrics do not apply."""

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.NOTHING

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Return one answer without text per request, in order."""
        return (Answer(request.id, AnswerState.NOT_ASKED) for request in requests)
