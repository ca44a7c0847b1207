"""Passages that are too long for one prompt: their halves are answered apart, and the answers fused."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import ClassVar

from components.asking.templates import asked_question, chat
from components.generators.joining import built_on, chosen_of, cut_like, first_failed
from components.limits import too_small
from components.protocols import Ask, Render, Tokenizer
from components.records import Answer, AnswerTask, GeneratedAnswer, Message, Request
from components.text.templates import fill, missing_places
from components.tokenizers.cl100k import Cl100k

_PLACES = ("{question}", "{answers}")


@dataclass(frozen=True)
class _Part:
    """Passages [first, last) of a task: answered at once, or by its halves."""

    first: int
    last: int
    halves: tuple["_Part", ...] = ()

    @property
    def height(self) -> int:
        """How often answers are fused below it, one after the other."""
        return 1 + max(half.height for half in self.halves) if self.halves else 0

    def all_parts(self) -> Iterator["_Part"]:
        """Itself and all below it."""
        yield self
        for half in self.halves:
            yield from half.all_parts()


@dataclass(frozen=True)
class SplitFuse:
    """Asks once if the passages hold at most `max_tokens` tokens. Above that their first and their second half are
    answered apart, each in the same way, and the model fuses the two answers into one. A single passage is never split.
    Where one half gave no text (empty, refused), the other's answer stands. A failed request fails the answer.

    `instruction` has places for {question} (in a conversation with the earlier turns) and {answers}, numbered from 1.
    Source: Lee and Roh 2024, "Multi-Reranker", section 3.3 and algorithm 1, whose limit counts the query too; here it
    is compared with the passages alone, as `context.max_tokens` is.
    """

    system: str
    instruction: str
    max_tokens: int = 32_000
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 2
    n_draws: ClassVar[int] = 1

    def check(self) -> list[str]:
        """A limit below 1, places that are missing."""
        return too_small(self, max_tokens=1) + missing_places("instruction", self.instruction, _PLACES)

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """One per passage at most, and one for each fusion of two."""
        fits = n_passage_tokens is not None and n_passage_tokens <= self.max_tokens
        return 1 if fits else max(2 * n_passages - 1, 1)

    def n_rounds(self, n_passages: int) -> int:
        """All parts at once, then the fusions from the smallest parts to the whole."""
        return 1 + ceil(log2(max(n_passages, 1)))

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """All samples side by side; `path` tells how many parts were answered apart, as in "4 parts"."""
        trees = self._trees(tasks)
        answers: list[dict[_Part, Answer]] = [{} for _ in tasks]
        shown: list[tuple[Message, ...]] = [() for _ in tasks]
        for height in range(1 + max((tree.height for tree in trees), default=-1)):
            requests: dict[str, tuple[int, _Part, Request]] = {}
            for row, (task, tree) in enumerate(zip(tasks, trees, strict=True)):
                for part in [part for part in tree.all_parts() if part.height == height]:
                    if (settled := _without_asking(part, answers[row])) is not None:
                        answers[row][part] = settled
                    else:
                        request = self._request(task, part, render, answers[row])
                        requests[request.id] = row, part, request
                        shown[row] = request.messages
            replies = ask([request for _, _, request in requests.values()]) if requests else []
            for (row, part, _), answer in zip(requests.values(), replies, strict=True):
                answers[row][part] = built_on(answer, [answers[row][half] for half in part.halves])
        return [
            GeneratedAnswer(replace(own[tree], request_id=task.sample.id), messages, _path(tree))
            for task, tree, own, messages in zip(tasks, trees, answers, shown, strict=True)
        ]

    def _trees(self, tasks: Sequence[AnswerTask]) -> list[_Part]:
        """How the passages of each task are parted. Each text is tokenised once, although samples may share it."""
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
        # Not in brackets: these number the sources that an answer cites.
        texts = [f"({n}) {answers[half].text}" for n, half in enumerate(part.halves, 1)]
        values = {"{question}": asked_question(task.sample), "{answers}": "\n".join(texts)}
        return Request(request_id, chat(self.system, fill(self.instruction, values)), task.sample, ())


def _without_asking(part: _Part, answers: Mapping[_Part, Answer]) -> Answer | None:
    """The answer to a part that its halves settle: one has failed, or has no text."""
    if not part.halves:
        return None
    left, right = (answers[half] for half in part.halves)
    if failed := first_failed([left, right]):
        return chosen_of(failed, [right if failed is left else left])
    if left.text and right.text:
        return None
    stands, other = (right, left) if right.text else (left, right)
    return cut_like(chosen_of(stands, [other]), [other])


def _path(tree: _Part) -> str:
    n_parts = sum(not part.halves for part in tree.all_parts())
    return f"{n_parts} parts" if n_parts > 1 else "single"
