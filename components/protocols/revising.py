"""Revisers: components that check an answer against its passages, and change it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import AnswerCheck, AskedText, JudgeInput


@runtime_checkable
class Reviser(Component, Protocol):
    """A component that has a language model check an answer, and then may replace the answer.

    A request names the sample of its answer (`Request.sample`), so that the answer's latency contains it.
    """

    @property
    def llm(self) -> LLM:
        """The language model of its requests."""

    @property
    def n_requests(self) -> int:
        """Maximum number of requests per answer: one for the check, plus the requests of `revise`."""

    @property
    def checks_again(self) -> bool:
        """True to check the final answers too. That changes no answer: it adds the metric `supported_after`."""

    def check_answers(self, answers: Sequence[JudgeInput], ask: Ask) -> list[AnswerCheck]:
        """Return one verdict per answer, from at most one request each. No answer is blank.

        It reports a reply that cannot be parsed after a retry, and a request that failed permanently. The answer then
        stays.
        """

    def revise(self, answers: Sequence[JudgeInput], verdicts: Sequence[AnswerCheck], ask: Ask) -> list[AskedText]:
        """Return the text that replaces each answer; "" if the answer stays. Every verdict has a finding."""


@runtime_checkable
class UnrevisedAnswers(Component, Protocol):
    """The absence of a reviser: it adds no stage to a cell."""

    @property
    def revises_nothing(self) -> bool:
        """Always True."""


AnyReviser = Reviser | UnrevisedAnswers
"""Every kind of reviser that a cell can have."""
