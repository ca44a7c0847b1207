"""One prompt with all passages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Ask, Render
from components.records import AnswerTask, GeneratedAnswer, Request


@dataclass(frozen=True)
class Single:
    """A generator with one request per sample and all passages in its prompt, as in most systems."""

    version: ClassVar[int] = 1
    n_draws: ClassVar[int] = 1

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """Return 1: one request per sample."""
        return 1

    def n_rounds(self, n_passages: int) -> int:
        """Return 1: all requests are sent together."""
        return 1

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """Return the model's answers unchanged."""
        prompts = [render(task.sample, task.passages) for task in tasks]
        requests = [
            Request(task.sample.id, messages, task.sample, task.passages)
            for task, messages in zip(tasks, prompts, strict=True)
        ]
        return [
            GeneratedAnswer(answer, messages, "single") for answer, messages in zip(ask(requests), prompts, strict=True)
        ]
