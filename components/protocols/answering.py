"""The steps from hits to an answer: context, prompt and requests."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.protocols.component import Component
from components.protocols.data import Dataset
from components.protocols.language_models import Ask
from components.records import (
    AnswerTask,
    Context,
    Documents,
    GeneratedAnswer,
    Hits,
    Message,
    Passage,
    Sample,
    SpanTexts,
)


@runtime_checkable
class ContextBuilder(Component, Protocol):
    """A component that selects the hits that go into the prompt, and orders them.

    A builder that merges neighbouring chunks into passages has a property `merges` that is true. It returns the chunks
    of a passage in document order. A builder that adds chunks around a hit has a property `n_chunks_per_hit`: the
    maximum number of chunks per hit, including the hit itself.
    """

    def build(self, hits: Hits, chunks: SpanTexts, top_k: int) -> Context:
        """Return the context, built from the first `top_k` hits and the chunks around them.

        `hits` has the full depth of the search.
        """


@runtime_checkable
class Prompt(Component, Protocol):
    """A component that writes the messages for a sample."""

    def render(self, sample: Sample, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """Return the chat messages. `passages` is empty if retrieval found nothing for the sample."""

    def render_closed_book(self, sample: Sample) -> tuple[Message, ...]:
        """Return the chat messages for a cell without retrieval, where the model relies on its own knowledge."""


@runtime_checkable
class History(Component, Protocol):
    """A component that selects the answers shown as earlier turns of a conversation in prompts."""

    @property
    def has_rounds(self) -> bool:
        """True if a turn cannot be prompted before the model has answered the turns before it."""

    def earlier_turns(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        """Return, per sample, the positions of the samples whose generated answers its prompt needs.

        There is one position per turn of the sample's history, in the same order. An empty tuple means that the prompt
        uses the answers of the data set.
        """


@runtime_checkable
class Examples(Component, Protocol):
    """A component that chooses the solved examples that a prompt shows before its question."""

    @property
    def n(self) -> int:
        """Number of examples per prompt. If it is 0, `dataset` is not read."""

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens per example."""

    @property
    def dataset(self) -> Dataset | None:
        """The source of the examples: a training split that is not evaluated."""

    def choose(self, samples: Sequence[Sample], pool: Sequence[Sample], documents: Documents) -> NDArray[np.int32]:
        """Return int32[n_samples, n]: per sample, the positions of its examples in `pool`, in the order of the prompt.

        An example is never the sample itself, nor a sample of the same group. Each example has a reference answer, and
        gold in `documents`, which is the corpus of the pool. Raises DataError if there are too few examples.
        """


Render = Callable[[Sample, Sequence[Passage]], tuple[Message, ...]]
"""A function that writes the messages for a sample and some of its passages. It is `Prompt.render` or its closed-book
counterpart."""


@runtime_checkable
class Generator(Component, Protocol):
    """A component that lets a language model answer, with one request per sample or several."""

    @property
    def n_draws(self) -> int:
        """Number of independent answers that it draws for equal requests; `Request.draw` is below this number."""

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """Return the maximum number of requests for a sample with `n_passages` passages.

        `n_passage_tokens` is the maximum number of tokens of all passages together, None if unknown. If the result is
        1, that request must contain all passages and have draw 0. With one of our generators, the cell then equals one
        with the generator `Single`.
        """

    def n_rounds(self, n_passages: int) -> int:
        """Return the maximum number of consecutive rounds of requests for one sample."""

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """Return one answer per task, in order; each has the id of the sample.

        If a request failed permanently, the answer has the state of that request. It is never assembled from the
        remaining replies.
        """
