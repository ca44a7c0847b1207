"""Passages that are too long for one prompt: separate answers from their halves, and a fusion of these."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import ClassVar

from components.asking.prompt_parts import chat_messages, question_in_context
from components.generators.joining import add_earlier_answers, choose_answer, first_failed, mark_truncated
from components.limits import too_small
from components.protocols import Ask, Render, Tokenizer
from components.records import Answer, AnswerTask, GeneratedAnswer, Message, Request
from components.text.templates import fill, missing_placeholders
from components.tokenizers.cl100k import Cl100k

_PLACEHOLDERS = ("{question}", "{answers}")


@dataclass(frozen=True)
class _Part:
    """Passages [first, last) of a task, answered in one request or by halves."""

    first: int
    last: int
    halves: tuple["_Part", ...] = ()

    @property
    def height(self) -> int:
        """Number of consecutive fusions below this part."""
        return 1 + max(half.height for half in self.halves) if self.halves else 0

    def all_parts(self) -> Iterator["_Part"]:
        """Yield this part and all parts below it."""
        yield self
        for half in self.halves:
            yield from half.all_parts()


@dataclass(frozen=True)
class SplitFuse:
    """A generator that splits the passages if they have more than `max_tokens` tokens.

    Up to that limit it sends one request. Above it, the two halves are answered separately, each in the same way, and
    the model fuses the two answers. A single passage is never split. If one half has no text (empty, refused), the
    answer of the other half is used. A failed request fails the answer.

    `instruction` has the placeholders {question} (in a conversation with the earlier turns) and {answers}, numbered
    from 1. Source: Lee and Roh 2024, "Multi-Reranker", section 3.3 and algorithm 1. Their limit includes the query;
    here it covers only the passages, like `context.max_tokens`.
    """

    system: str
    instruction: str
    max_tokens: int = 32_000
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 2
    n_draws: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for a limit below 1 and for missing placeholders."""
        return too_small(self, max_tokens=1) + missing_placeholders("instruction", self.instruction, _PLACEHOLDERS)

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """Return the maximum: one request per passage and one per fusion of two; 1 if the passages fit."""
        fits = n_passage_tokens is not None and n_passage_tokens <= self.max_tokens
        return 1 if fits else max(2 * n_passages - 1, 1)

    def n_rounds(self, n_passages: int) -> int:
        """Return the maximum: one round for all parts, then one per level of fusions."""
        return 1 + ceil(log2(max(n_passages, 1)))

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """Return the answers; `path` has the number of parts answered separately, as in "4 parts"."""
        trees = self._trees(tasks)
        answers: list[dict[_Part, Answer]] = [{} for _ in tasks]
        last_prompts: list[tuple[Message, ...]] = [() for _ in tasks]
        for height in range(1 + max((tree.height for tree in trees), default=-1)):
            requests: dict[str, tuple[int, _Part, Request]] = {}
            for row, (task, tree) in enumerate(zip(tasks, trees, strict=True)):
                for part in [part for part in tree.all_parts() if part.height == height]:
                    if (settled := _settle(part, answers[row])) is not None:
                        answers[row][part] = settled
                    else:
                        request = self._request(task, part, render, answers[row])
                        requests[request.id] = row, part, request
                        last_prompts[row] = request.messages
            replies = ask([request for _, _, request in requests.values()]) if requests else []
            for (row, part, _), answer in zip(requests.values(), replies, strict=True):
                answers[row][part] = add_earlier_answers(answer, [answers[row][half] for half in part.halves])
        return [
            GeneratedAnswer(replace(task_answers[tree], request_id=task.sample.id), messages, _path(tree))
            for task, tree, task_answers, messages in zip(tasks, trees, answers, last_prompts, strict=True)
        ]

    def _trees(self, tasks: Sequence[AnswerTask]) -> list[_Part]:
        """Return the division of each task's passages. Each text is tokenized once, although samples may share it."""
        texts = list(dict.fromkeys(passage.text for task in tasks for passage in task.passages))
        lengths = dict(zip(texts, map(len, self.tokenizer.token_ends(texts)), strict=True))
        return [self._part([lengths[passage.text] for passage in task.passages], 0) for task in tasks]

    def _part(self, n_tokens: Sequence[int], first: int) -> _Part:
        last = first + len(n_tokens)
        if len(n_tokens) < 2 or sum(n_tokens) <= self.max_tokens:
            return _Part(first, last)
        middle = (len(n_tokens) + 1) // 2
        return _Part(first, last, (self._part(n_tokens[:middle], first), self._part(n_tokens[middle:], first + middle)))

    def _request(self, task: AnswerTask, part: _Part, render: Render, answers: Mapping[_Part, Answer]) -> Request:
        request_id = f"{task.sample.id} passages {part.first} to {part.last}"
        if not part.halves:
            passages = task.passages[part.first : part.last]
            return Request(request_id, render(task.sample, passages), task.sample, passages)
        # Not in square brackets, which number the sources that an answer cites.
        texts = [f"({n}) {answers[half].text}" for n, half in enumerate(part.halves, 1)]
        values = {"{question}": question_in_context(task.sample), "{answers}": "\n".join(texts)}
        return Request(request_id, chat_messages(self.system, fill(self.instruction, values)), task.sample, ())


def _settle(part: _Part, answers: Mapping[_Part, Answer]) -> Answer | None:
    """Return the answer to a part if one of its halves has failed or has no text, else None."""
    if not part.halves:
        return None
    left, right = (answers[half] for half in part.halves)
    if failed := first_failed([left, right]):
        return choose_answer(failed, [right if failed is left else left])
    if left.text and right.text:
        return None
    chosen, other = (right, left) if right.text else (left, right)
    return mark_truncated(choose_answer(chosen, [other]), [other])


def _path(tree: _Part) -> str:
    n_parts = sum(not part.halves for part in tree.all_parts())
    return f"{n_parts} parts" if n_parts > 1 else "single"
