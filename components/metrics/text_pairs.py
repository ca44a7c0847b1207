"""Pairs of answers and references that a model compares as whole texts instead of units."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from components.metrics.references import best_pair_scores, reference_owners, require_texts
from components.records import Sample, Scores, TextsWithUnits

Pair = tuple[str, str]
"""An answer and a reference."""


def best_text_over_references(
    samples: Sequence[Sample],
    answers: TextsWithUnits,
    references: TextsWithUnits,
    similarity: Callable[[Sequence[Pair]], NDArray[np.float64]],
) -> Scores:
    """Return per sample the largest similarity of its answer and a reference, as the scores of a mean.

    Blank references are left out; a sample that has no other reference is NOT_APPLICABLE. A blank answer scores 0.
    `similarity` is called once with all remaining pairs, unless no pair remains. Raises ComponentError if the answers
    or references do not belong to `samples`.
    """
    require_texts(samples, answers, references)
    rows = [row for row, reference in enumerate(references.texts) if reference.strip()]
    sample = reference_owners(samples)[rows]
    pairs = [(answers.texts[i], references.texts[row]) for i, row in zip(sample.tolist(), rows, strict=True)]
    written = [number for number, (answer, _) in enumerate(pairs) if answer.strip()]
    values = np.zeros(len(pairs), dtype=np.float64)
    if written:
        values[written] = similarity([pairs[number] for number in written])
    return best_pair_scores(sample, values, len(samples))
