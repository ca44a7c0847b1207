"""The share of a set that people accept, as a whole and in every field of the topic x task matrix."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from components.clusters import number_clusters
from components.means import combine_mean
from components.metrics.interval import Column, Intervals
from components.records import Interval
from runner.console.display import escape_formula
from runner.results.released_set import Testset
from runner.testset.annotating.annotation_choices import THRESHOLDS
from runner.testset.annotating.annotations import Annotation

WHOLE = ("all", "all")


@dataclass(frozen=True)
class CellAcceptance:
    """Acceptance of the samples of one topic and task, both "all" for the whole set.

    `n_accepted` and `shares` are by threshold. A share is of the rated samples, with its interval.
    """

    topic: str
    task: str
    n_samples: int
    n_rated: int
    n_accepted: Mapping[int, int]
    shares: Mapping[int, Interval]


def is_accepted(ratings: Sequence[int], at_least: int) -> bool:
    """Return True if most of the ratings reach the threshold, and False if there are no ratings."""
    return 2 * sum(rating >= at_least for rating in ratings) > len(ratings)


def ratings_by_sample(annotations: Sequence[Annotation]) -> dict[str, list[int]]:
    """Return the ratings of every rated sample, by sample id."""
    ratings: dict[str, list[int]] = {}
    for annotation in annotations:
        if annotation.rating is not None:
            ratings.setdefault(annotation.sample, []).append(annotation.rating)
    return ratings


def acceptance(testset: Testset, ratings: Mapping[str, Sequence[int]]) -> list[CellAcceptance]:
    """Return the acceptance of the whole set, then of each matrix field, sorted by name. Samples without a rating count
    in no share.

    Intervals are Wilson's with the effective number of independent samples, because samples of connected documents
    depend on each other (`components.metrics.interval`). Fewer than 5 groups of connected documents have no interval.
    """
    samples = testset.samples
    cells: dict[tuple[str, str], list[int]] = {WHOLE: list(range(len(samples)))}
    for row, sample in enumerate(samples):
        cells.setdefault((sample.topic or "", sample.task or ""), []).append(row)
    rated = np.array([sample.id in ratings for sample in samples], dtype=bool)
    accepted = {
        threshold: np.array([is_accepted(ratings.get(sample.id, ()), threshold) for sample in samples], dtype=bool)
        for threshold in THRESHOLDS
    }
    columns = [
        Column(np.column_stack([accepted[threshold], rated]).astype(np.float64), combine_mean)
        for threshold in THRESHOLDS
    ]
    ordered = [WHOLE, *sorted(cells.keys() - {WHOLE})]
    intervals = Intervals().subset_intervals(columns, [cells[cell] for cell in ordered], number_clusters(samples))
    return [
        CellAcceptance(
            *cell,
            len(cells[cell]),
            int(rated[cells[cell]].sum()),
            {threshold: int(accepted[threshold][cells[cell]].sum()) for threshold in THRESHOLDS},
            dict(zip(THRESHOLDS, cell_intervals, strict=True)),
        )
        for cell, cell_intervals in zip(ordered, intervals, strict=True)
    ]


def acceptance_csv(cells: Sequence[CellAcceptance]) -> str:
    """Return the matrix fields as CSV, one per row. Missing intervals are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    measures = ("accepted", "share", "low", "high")
    writer.writerow(["topic", "task", "samples", "rated", *(f"{name} at {t}" for t in THRESHOLDS for name in measures)])
    for cell in cells:
        row: list[object] = [escape_formula(cell.topic), escape_formula(cell.task), cell.n_samples, cell.n_rated]
        for threshold in THRESHOLDS:
            share = cell.shares[threshold]
            row += [cell.n_accepted[threshold], share.value, share.low, share.high]
        writer.writerow(row)
    return text.getvalue().rstrip("\n")
