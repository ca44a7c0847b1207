"""Scores of answers against several references: the best match is used."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import mean_scores
from components.records import Sample, Scores, ScoreState, TextsWithUnits, Units
from components.text.units import select_units

Similarity = Callable[[Units, Units], NDArray[np.float64]]
"""Function from answers and references to their similarities, float64[n_pairs].

An answer may be without units; a reference has at least one.
"""


class Pairs(NamedTuple):
    """Each answer with each of its references that has a unit. `sample` int64[n_pairs] is non-decreasing."""

    sample: NDArray[np.int64]
    answers: Units
    references: Units


def pair_units(samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits) -> Pairs:
    """Pair every answer with each of its references, except references without a unit.

    Raises ComponentError if the answers or references do not belong to `samples`, or have no units.
    """
    require_texts(samples, answers, references)
    if answers.units is None or references.units is None:
        raise ComponentError(
            "score_answers: got texts without units. A metric that reads units must declare a `form` that has them"
        )
    rows = np.flatnonzero(np.diff(references.units.offsets) > 0)
    sample = reference_owners(samples)[rows]
    return Pairs(sample, select_units(answers.units, sample), select_units(references.units, rows))


def best_over_references(
    samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits, similarity: Similarity
) -> Scores:
    """Return per sample the largest similarity of its answer and a reference, as the scores of a mean.

    References without a unit are left out; a sample that has no other reference is NOT_APPLICABLE. Raises
    ComponentError if the answers or references do not belong to `samples`.
    """
    pairs = pair_units(samples, answers, references)
    return best_pair_scores(pairs.sample, similarity(pairs.answers, pairs.references), len(samples))


def best_pair_scores(sample: NDArray[np.int64], values: NDArray[np.float64], n_samples: int) -> Scores:
    """Return the largest value of each sample's pairs, as the scores of a mean; NOT_APPLICABLE for a sample without
    pairs.
    """
    best = np.full(n_samples, -np.inf)
    np.maximum.at(best, sample, values)
    return mean_scores([ScoreState.NOT_APPLICABLE if value == -np.inf else value for value in best.tolist()])


def reference_owners(samples: Sequence[Sample]) -> NDArray[np.int64]:
    """Return the position of each reference's sample, int64[n_references], for the references of all samples in
    sequence.
    """
    return np.repeat(np.arange(len(samples)), [len(sample.references) for sample in samples])


def require_texts(samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits) -> None:
    """Raise ComponentError unless there is one answer per sample, and all references of every sample."""
    n_references = sum(len(sample.references) for sample in samples)
    if len(samples) != len(answers) or n_references != len(references):
        raise ComponentError(
            f"score_answers: got {len(answers)} answers and {len(references)} references for {len(samples)} samples "
            f"with {n_references} references, expected one answer per sample and all of their references"
        )
