"""The model's own answers as history."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.errors import ComponentError
from components.records import Sample


@dataclass(frozen=True)
class OwnHistory:
    """Earlier turns stand in prompts with the answers that the model itself gave to them: all first turns are answered
    first, then all second ones, and so on. The earlier turns of a sample must be samples of the data set themselves: of
    two with the same turns before them, the first stands for both.
    """

    version: ClassVar[int] = 1
    has_rounds: ClassVar[bool] = True

    def check_samples(self, samples: Sequence[Sample]) -> list[str]:
        """Samples with earlier turns that are no samples."""
        found = _earlier_turns(samples)
        lacking = [sample for sample, rows in zip(samples, found, strict=True) if None in rows]
        if not lacking:
            return []
        row = found[samples.index(lacking[0])].index(None)
        n_turns = sum(bool(sample.history) for sample in samples)
        return [
            f"history: got own, and {len(lacking)} of {n_turns} samples with earlier turns have one that is no sample "
            f"of the data set, and so is not answered (e.g. {lacking[0].id!r}: {lacking[0].history[row].question!r}); "
            "expected all turns of each conversation as samples: dataset.limit=null if some were left out by a limit, "
            "else history=gold"
        ]

    def earlier_turns(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        """Per sample the positions of its earlier turns, in their order. Raises ComponentError if one is not there."""
        if mistakes := self.check_samples(samples):
            raise ComponentError(mistakes[0])
        return [tuple(row for row in rows if row is not None) for rows in _earlier_turns(samples)]


def _earlier_turns(samples: Sequence[Sample]) -> list[tuple[int | None, ...]]:
    """Positions; None for a turn that is not there. A turn is known by its question and those before it, among the
    samples of its subset and corpus.
    """
    place: dict[tuple[str, ...], int] = {}
    for row, sample in enumerate(samples):
        place.setdefault((*_group(sample), *_questions(sample), sample.question), row)
    return [
        tuple(place.get((*_group(sample), *_questions(sample)[: n + 1])) for n in range(len(sample.history)))
        for sample in samples
    ]


def _group(sample: Sample) -> tuple[str, str]:
    return sample.subset, sample.corpus_prefix


def _questions(sample: Sample) -> tuple[str, ...]:
    return tuple(turn.question for turn in sample.history)
