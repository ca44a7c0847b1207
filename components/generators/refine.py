"""Answers refined passage by passage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from components.generators.joining import add_earlier_answers
from components.protocols import Ask, Render
from components.records import Answer, AnswerState, AnswerTask, GeneratedAnswer, Message, Request
from components.text.templates import fill, missing_placeholders

_PLACEHOLDERS = ("{prompt}", "{answer}")


@dataclass(frozen=True)
class Refine:
    """A generator that asks with the first passage, then shows the answer together with the next passage, and so on.

    A reply without text (empty, refused) leaves the answer unchanged. While there is no answer, each passage is asked
    about like the first. A failed request fails the answer, and ends the requests for its sample.

    `instruction` has the placeholders {prompt}, the user message of the cell's prompt with the next passage, and
    {answer}, the answer so far. Source: the response mode `refine` of llama-index.
    """

    instruction: str

    version: ClassVar[int] = 1
    n_draws: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for missing placeholders."""
        return missing_placeholders("instruction", self.instruction, _PLACEHOLDERS)

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """Return one request per passage, but at least one."""
        return max(n_passages, 1)

    def n_rounds(self, n_passages: int) -> int:
        """Return the number of requests, because each passage needs the previous answer."""
        return max(n_passages, 1)

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """Return the answers; `path` has the number of passages read, as in "5 passages"."""
        answers: list[list[Answer]] = [[] for _ in tasks]
        last_prompts: list[tuple[Message, ...]] = [() for _ in tasks]
        for turn in range(max((self.n_requests(len(task.passages), None) for task in tasks), default=0)):
            rows = [
                row
                for row, task in enumerate(tasks)
                if turn < self.n_requests(len(task.passages), None) and not _has_failed(answers[row])
            ]
            requests = []
            for row in rows:
                sample, passages = tasks[row].sample, tasks[row].passages[turn : turn + 1]
                last_prompts[row] = self._messages(render(sample, passages), _latest_text(answers[row]))
                requests.append(Request(sample.id, last_prompts[row], sample, passages))
            for row, answer in zip(rows, ask(requests), strict=True):
                answers[row].append(answer)
        return [
            GeneratedAnswer(_final_answer(steps), messages, f"{len(steps)} passages" if len(steps) > 1 else "single")
            for steps, messages in zip(answers, last_prompts, strict=True)
        ]

    def _messages(self, messages: tuple[Message, ...], so_far: str) -> tuple[Message, ...]:
        if not so_far:
            return messages
        *earlier, last = messages
        return (*earlier, replace(last, content=fill(self.instruction, {"{prompt}": last.content, "{answer}": so_far})))


def _has_failed(answers: Sequence[Answer]) -> bool:
    return bool(answers) and answers[-1].state is AnswerState.ERROR


def _latest_text(answers: Sequence[Answer]) -> str:
    return next((answer.text for answer in reversed(answers) if answer.text), "")


def _final_answer(answers: Sequence[Answer]) -> Answer:
    """Return the answer after all passages, with the usage of all replies."""
    whole = answers[0]
    for answer in answers[1:]:
        is_cached = whole.text and not answer.text and answer.state is not AnswerState.ERROR
        whole = add_earlier_answers(whole, [answer]) if is_cached else add_earlier_answers(answer, [whole])
    return whole
