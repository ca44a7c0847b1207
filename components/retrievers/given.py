"""Passages that a benchmark provides with each question."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

from components.errors import ComponentError
from components.protocols import Chunker
from components.records import Documents, Hits, Sample, Spans
from components.retrievers.arms import depth_problems
from components.text.ranking import hits_in_order


@dataclass(frozen=True)
class Given:
    """A retriever without a search: up to top_k of a sample's own `passages` go into its prompt, in their order.

    With a `noise_rate`, that share of top_k (rounded up) are noise passages, which are not gold of the sample. The rest
    are relevant passages. Both kinds are taken from the first passage on. `seed` and the sample determine the order
    in the prompt. Sets of alternatives take turns in providing a relevant passage. If one kind has too few passages,
    the other fills the rest, except at a rate of 1. `chunker` splits the corpus, normally into whole documents.
    Source: Chen et al. 2024, "Benchmarking Large Language Models in Retrieval-Augmented Generation" (RGB).
    """

    chunker: Chunker
    noise_rate: float | None = None
    seed: int = 0
    depth: int = 100

    version: ClassVar[int] = 1
    gives_passages: ClassVar[bool] = True
    fusion: ClassVar[None] = None

    def check(self) -> list[str]:
        """Return error messages for a depth or a noise rate out of range."""
        if self.noise_rate is None or 0 <= self.noise_rate <= 1:
            return depth_problems(self.depth)
        return [
            *depth_problems(self.depth),
            f"noise_rate: got {self.noise_rate}, expected a share in [0, 1], or null for all passages in their order",
        ]

    @property
    def arms(self) -> tuple["Given"]:
        """The retriever itself, its only arm."""
        return (self,)

    @property
    def picks_for_prompt(self) -> bool:
        """True with a noise rate, which is a share of the passages in the prompt."""
        return self.noise_rate is not None

    def pick(self, samples: Sequence[Sample], documents: Documents, chunks: Spans, n: int) -> Hits:
        """Return the chunks of the passages. Raises ComponentError if no sample has passages."""
        if samples and not any(sample.passages for sample in samples):
            raise ComponentError(
                "retriever=given: no sample of this data set has passages, expected the field `passages` in the "
                "questions, or a retriever that searches"
            )
        positions = {document_id: position for position, document_id in enumerate(documents.ids)}
        chunks_of: dict[int, list[int]] = {}
        for chunk, document in enumerate(chunks.document.tolist()):
            chunks_of.setdefault(document, []).append(chunk)
        chosen = [self._passages(sample, n) for sample in samples]
        return hits_in_order(
            [
                [chunk for passage in passages for chunk in chunks_of.get(positions[passage], [])][:n]
                for passages in chosen
            ]
        )

    def _passages(self, sample: Sample, n: int) -> Sequence[str]:
        if self.noise_rate is None:
            return sample.passages
        gold = _turns(sample)
        relevant = sorted((passage for passage in sample.passages if passage in gold), key=gold.__getitem__)
        noise = [passage for passage in sample.passages if passage not in gold]
        n_noise, n_relevant = _split(n, self.noise_rate, len(noise), len(relevant))
        return sorted([*relevant[:n_relevant], *noise[:n_noise]], key=lambda passage: self._draw(sample.id, passage))

    def _draw(self, sample_id: str, passage: str) -> bytes:
        return hashlib.sha256(f"{self.seed}\0{sample_id}\0{passage}".encode()).digest()


def _turns(sample: Sample) -> dict[str, int]:
    """Return, by gold document, the turn in which its set of alternatives provides it; 0 for required documents."""
    turns: dict[str, int] = {}
    n_given: dict[int, int] = {}
    for unit in sample.gold:
        turn = n_given.get(unit.one_of, 0) if unit.one_of else 0
        n_given[unit.one_of] = turn + 1
        turns[unit.document_id] = min(turn, turns.get(unit.document_id, turn))
    return turns


def _split(n: int, noise_rate: float, n_noise: int, n_relevant: int) -> tuple[int, int]:
    """Return the numbers of noise and relevant passages for a prompt of `n`, given how many there are of each."""
    if noise_rate == 1:
        return n, 0
    n_expected = ceil(round(n * noise_rate, 9))  # in floating point, 10 * 0.7 is slightly more than 7
    if n_expected > n_noise:
        return n_noise, n - n_noise
    relevant = min(n - n_expected, n_relevant)
    return n - relevant, relevant
