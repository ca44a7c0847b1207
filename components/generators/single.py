"""One prompt with all passages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Ask, Render
from components.records import AnswerTask, GeneratedAnswer, Request


@dataclass(frozen=True)
class Single:
    """Asks once, with all passages in the prompt: what most systems do."""

    version: ClassVar[int] = 1
    n_draws: ClassVar[int] = 1

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """One."""
        return 1

    def n_rounds(self, n_passages: int) -> int:
        """One."""
        return 1

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """The model's answers as they are."""
        prompts = [render(task.sample, task.passages) for task in tasks]
        requests = [
            Request(task.sample.id, messages, task.sample, task.passages)
            for task, messages in zip(tasks, prompts, strict=True)
        ]
        return [
            GeneratedAnswer(answer, messages, "single") for answer, messages in zip(ask(requests), prompts, strict=True)
        ]
