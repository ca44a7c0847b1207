"""A generator that draws an answer several times and returns the most common one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from components.generators.joining import choose_answer, first_failed
from components.protocols import Ask, Render
from components.records import Answer, AnswerState, AnswerTask, GeneratedAnswer, Request
from components.text.normalize import ANSWER_FORM_VERSION, answer_form


@dataclass(frozen=True)
class SelfConsistency:
    """A generator that draws `n_draws` answers to the same prompt, and returns the most common one.

    Answers are equal if their `answer_form` is equal. Ties go to the answer drawn first. Answers without
    text (empty, refused) count as equal. A failed draw fails the answer, because it could change the vote.

    The model must sample (temperature above 0). Long answers are hardly ever equal: then the first draw wins, at the
    price of all. Source: Wang et al. 2022, "Self-Consistency Improves Chain of Thought Reasoning in Language Models",
    section 2, with unweighted votes.
    """

    n_draws: int = 5

    version: ClassVar[int] = 1 + ANSWER_FORM_VERSION

    def check(self) -> list[str]:
        """Return an error message for too few draws."""
        return (
            []
            if self.n_draws >= 2
            else [f"n_draws: got {self.n_draws}, expected at least 2 (for one, generator=single)"]
        )

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """Return one request per draw."""
        return self.n_draws

    def n_rounds(self, n_passages: int) -> int:
        """Return 1: all draws are requested together."""
        return 1

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """Return the most common answers; `path` has the votes, as in "3 of 5"."""
        prompts = [render(task.sample, task.passages) for task in tasks]
        requests = [
            Request(f"{task.sample.id} draw {draw}", messages, task.sample, task.passages, draw=draw)
            for draw in range(self.n_draws)
            for task, messages in zip(tasks, prompts, strict=True)
        ]
        answers = ask(requests)
        generated = []
        for row, (task, messages) in enumerate(zip(tasks, prompts, strict=True)):
            answer, path = _elect(answers[row :: len(tasks)])
            generated.append(GeneratedAnswer(replace(answer, request_id=task.sample.id), messages, path))
        return generated


def _elect(answers: Sequence[Answer]) -> tuple[Answer, str]:
    if failed := first_failed(answers):
        return _add_usage(failed, answers), "failed"
    votes = Counter(answer_form(answer.text) for answer in answers)
    form, n_votes = max(votes.items(), key=lambda item: item[1])  # the first drawn form wins a tie
    same = [answer for answer in answers if answer_form(answer.text) == form]
    best = next((answer for answer in same if answer.state is AnswerState.OK), same[0])
    return _add_usage(best, answers), f"{n_votes} of {len(answers)}"


def _add_usage(answer: Answer, answers: Sequence[Answer]) -> Answer:
    return choose_answer(answer, [other for other in answers if other is not answer])
