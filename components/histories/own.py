"""The model's own answers as history."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.errors import ComponentError
from components.records import Sample


@dataclass(frozen=True)
class OwnHistory:
    """A history with the model's own answers: all first turns are answered first, then all second turns, and so on.

    The earlier turns of a sample must also be samples of the data set. If several samples have the same question after
    the same turns, the first represents all.
    """

    version: ClassVar[int] = 1
    has_rounds: ClassVar[bool] = True

    def check_samples(self, samples: Sequence[Sample]) -> list[str]:
        """Return an error message if earlier turns of samples are not samples themselves."""
        earlier_turns = _earlier_turns(samples)
        partial = [sample for sample, rows in zip(samples, earlier_turns, strict=True) if None in rows]
        if not partial:
            return []
        row = earlier_turns[samples.index(partial[0])].index(None)
        n_turns = sum(bool(sample.history) for sample in samples)
        return [
            f"history: got own, but {len(partial)} of {n_turns} samples with earlier turns have one that is not itself "
            f"a sample, so this pipeline does not answer it (e.g. {partial[0].id!r}: "
            f"{partial[0].history[row].question!r}), expected all turns of each conversation as samples. Set "
            "dataset.limit=null if a limit left some out, otherwise history=gold"
        ]

    def earlier_turns(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        """Return, per sample, the positions of its earlier turns in order.

        Raises ComponentError if a turn is not a sample.
        """
        if problems := self.check_samples(samples):
            raise ComponentError(problems[0])
        return [tuple(row for row in rows if row is not None) for rows in _earlier_turns(samples)]


def _earlier_turns(samples: Sequence[Sample]) -> list[tuple[int | None, ...]]:
    """Return positions of earlier turns, None for a missing turn.

    A turn is identified by its question and the questions before it, within its subset and corpus.
    """
    rows_by_turn: dict[tuple[str, ...], int] = {}
    for row, sample in enumerate(samples):
        rows_by_turn.setdefault((*_group(sample), *_questions(sample), sample.question), row)
    return [
        tuple(rows_by_turn.get((*_group(sample), *_questions(sample)[: n + 1])) for n in range(len(sample.history)))
        for sample in samples
    ]


def _group(sample: Sample) -> tuple[str, str]:
    return sample.subset, sample.corpus_prefix


def _questions(sample: Sample) -> tuple[str, ...]:
    return tuple(turn.question for turn in sample.history)
