"""The passages that a benchmark gives with each question."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

from components.errors import ComponentError
from components.protocols import Chunker
from components.records import Documents, Hits, Sample, Spans
from components.retrievers.arms import depth_mistakes
from components.text.ranking import hits_in_order


@dataclass(frozen=True)
class Given:
    """No search: a sample's own `passages` go into its prompt, as its benchmark orders them, at most top_k.

    With a `noise_rate`, that share of top_k is noise (passages that are no gold of the sample, rounded up), the rest is
    relevant, each sort from its first passage on, and their order is drawn by `seed` and the sample. Sets of
    alternatives take turns in giving a relevant passage. Where there are too few of one sort, the other one fills up,
    except at a rate of 1. `chunker` cuts the corpus, normally not at all.
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
        """Mistakes of depth and noise rate."""
        if self.noise_rate is None or 0 <= self.noise_rate <= 1:
            return depth_mistakes(self.depth)
        return [
            *depth_mistakes(self.depth),
            f"noise_rate: got {self.noise_rate}, expected a share in [0, 1], or null for all passages in their order",
        ]

    @property
    def arms(self) -> tuple["Given"]:
        """Itself."""
        return (self,)

    @property
    def picks_for_prompt(self) -> bool:
        """A share of noise is one of the passages in the prompt."""
        return self.noise_rate is not None

    def pick(self, samples: Sequence[Sample], documents: Documents, chunks: Spans, n: int) -> Hits:
        """The chunks of the passages. Raises ComponentError if no sample has any."""
        if samples and not any(sample.passages for sample in samples):
            raise ComponentError(
                "retriever=given: no sample of this data set has passages; expected the field `passages` in the "
                "questions, or a retriever that searches"
            )
        place = {document_id: position for position, document_id in enumerate(documents.ids)}
        chunks_of: dict[int, list[int]] = {}
        for chunk, document in enumerate(chunks.document.tolist()):
            chunks_of.setdefault(document, []).append(chunk)
        chosen = [self._passages(sample, n) for sample in samples]
        return hits_in_order(
            [[chunk for passage in own for chunk in chunks_of.get(place[passage], [])][:n] for own in chosen]
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
    """By gold document the turn, from 0, in which its set of alternatives gives it; 0 if it is needed by itself."""
    turns: dict[str, int] = {}
    n_given: dict[int, int] = {}
    for unit in sample.gold:
        turn = n_given.get(unit.one_of, 0) if unit.one_of else 0
        n_given[unit.one_of] = turn + 1
        turns[unit.document_id] = min(turn, turns.get(unit.document_id, turn))
    return turns


def _split(n: int, noise_rate: float, n_noise: int, n_relevant: int) -> tuple[int, int]:
    """How many passages of noise and how many relevant ones are wanted of those that there are."""
    if noise_rate == 1:
        return n, 0
    wanted = ceil(round(n * noise_rate, 9))  # to a computer, 10 * 0.7 is a little more than 7
    if wanted > n_noise:
        return n_noise, n - n_noise
    relevant = min(n - wanted, n_relevant)
    return n - relevant, relevant
