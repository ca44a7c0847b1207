"""From hits to an answer: context, prompt and requests."""

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
    """Chooses which of the best hits go into the prompt, and in which order.

    One that joins neighbouring chunks into passages has a property `merges` that is true, and gives the chunks of a
    passage as they stand in their document; one that reads chunks around a hit says in `n_chunks_per_hit` how many
    there are at most, itself among them.
    """

    def build(self, hits: Hits, chunks: SpanTexts, top_k: int) -> Context:
        """`hits` at full depth; only their first `top_k` may be used, with what is around them."""


@runtime_checkable
class Prompt(Component, Protocol):
    """Writes the messages for one sample."""

    def render(self, sample: Sample, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """Chat messages; there are no passages for a sample for which retrieval found nothing."""

    def render_closed_book(self, sample: Sample) -> tuple[Message, ...]:
        """Chat messages of a cell without retrieval, whose model answers from its own knowledge."""


@runtime_checkable
class History(Component, Protocol):
    """Says whose answers stand as the earlier turns of a conversation in prompts."""

    @property
    def has_rounds(self) -> bool:
        """True if turns wait for the answers to those before them."""

    def earlier_turns(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        """Per sample the positions of those whose answers it waits for, in the order of its history, one for each turn
        of it; () for all where the data set's own answers stand.
        """


@runtime_checkable
class Examples(Component, Protocol):
    """Chooses the solved examples that a prompt shows before its question."""

    @property
    def n(self) -> int:
        """In each prompt; 0 for none at all: `dataset` is then not read."""

    @property
    def max_tokens(self) -> int:
        """That an example holds, at most."""

    @property
    def dataset(self) -> Dataset | None:
        """Where they come from: a training split, of which nothing is evaluated."""

    def choose(self, samples: Sequence[Sample], pool: Sequence[Sample], documents: Documents) -> NDArray[np.int32]:
        """int32[n_samples, n]: for each sample the positions in the pool of its examples, in the order in which they
        are shown; never the sample itself nor one of its cluster. Each has a reference, and gold in `documents`, the
        corpus of the pool. Raises DataError where there are too few.
        """


Render = Callable[[Sample, Sequence[Passage]], tuple[Message, ...]]
"""Writes the messages for a sample with some of its passages: `Prompt.render`, or that of a closed book."""


@runtime_checkable
class Generator(Component, Protocol):
    """Has a language model answer, by one request for each sample or by several."""

    @property
    def n_draws(self) -> int:
        """Different draws of equal requests that are asked for: `Request.draw` is below this."""

    def n_requests(self, n_passages: int, n_passage_tokens: int | None) -> int:
        """Requests for a sample with so many passages, at most; `n_passage_tokens` is what these hold together at most,
        None if nobody knows. If it is 1, that must be the one with all passages and draw 0, and the cell is the same as
        one with `Single`.
        """

    def n_rounds(self, n_passages: int) -> int:
        """How often the model is asked about one sample, each time after the replies before; at most."""

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        """One per task, in order, whose answer has the id of the sample. If a request failed for good, the answer has
        that state: it is never made of what is left.
        """
