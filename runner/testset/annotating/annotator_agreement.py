"""Agreement of annotators on ratings, checks, topics and marks, of all together and of each pair."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from components.clusters import number_clusters
from components.means import combine_mean
from components.metrics.interval import Column, Intervals
from components.records import Evidence, Interval
from components.statistics.agreement import Agreement, agree
from components.statistics.krippendorff import Alpha, MeasurementLevel, krippendorff_alpha
from runner.results.released_set import Testset
from runner.testset.annotating.annotations import Annotation, AnnotatorCheck


@dataclass(frozen=True)
class AnnotatorPair:
    """Agreement of two annotators on the samples that both rated."""

    first: str
    second: str
    ratings: Agreement


@dataclass(frozen=True)
class AnnotatorAgreement:
    """Agreement of all annotators.

    `alphas` are by annotated field: "rating" (ordinal), "topic" and the checks (nominal). `marks` is the mean F1 of
    marked characters over the `n_marked` samples that at least two annotators marked.
    """

    n_annotators: int
    alphas: dict[str, Alpha]
    marks: Interval
    n_marked: int
    pairs: tuple[AnnotatorPair, ...]


def annotator_agreement(testset: Testset, annotations: Sequence[Annotation], seed: int = 0) -> AnnotatorAgreement:
    """Compute the agreement. Intervals resample or leave out samples of connected documents together.

    Alpha: Krippendorff 2011. Weighted kappa of two annotators: Cohen 1968. The F1 of characters follows token-level
    span annotation, 2 |A and B| / (|A| + |B|), averaged over the pairs of annotators of a sample. Hripcsak & Rothschild
    2005, "Agreement, the F-Measure, and Reliability in Information Retrieval", explain why F1 and not kappa.
    """
    cluster = dict(
        zip((sample.id for sample in testset.samples), number_clusters(testset.samples).tolist(), strict=True)
    )
    by_sample: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        by_sample.setdefault(annotation.sample, []).append(annotation)
    units = list(by_sample.values())
    clusters = [cluster[name] for name in by_sample]
    alphas = {}
    for name in ("rating", "topic", *(f"check_{check}" for check in AnnotatorCheck)):
        level = MeasurementLevel.ORDINAL if name == "rating" else MeasurementLevel.NOMINAL
        values = [[_get_rating(annotation, name) for annotation in unit] for unit in units]
        alphas[name] = krippendorff_alpha(values, level, clusters, seed=seed)
    marks, n_marked = _marks(units, np.array(clusters, dtype=np.int64), seed)
    pairs = tuple(_pairs(annotations, cluster, seed))
    return AnnotatorAgreement(len({annotation.annotator for annotation in annotations}), alphas, marks, n_marked, pairs)


def _get_rating(annotation: Annotation, name: str) -> Hashable | None:
    """Return the rating, the topic, or the answer to a check."""
    if name == "rating":
        return annotation.rating
    return annotation.topic if name == "topic" else annotation.checks.get(AnnotatorCheck(name.removeprefix("check_")))


def _pairs(annotations: Sequence[Annotation], cluster: Mapping[str, int], seed: int) -> Iterator[AnnotatorPair]:
    """Yield all pairs of annotators who rated a sample in common."""
    ratings: dict[str, dict[str, str]] = {}
    for annotation in annotations:
        if annotation.rating is not None:
            ratings.setdefault(annotation.annotator, {})[annotation.sample] = str(annotation.rating)
    for first, second in combinations(sorted(ratings), 2):
        if both := sorted(ratings[first].keys() & ratings[second].keys()):
            ratings_1, ratings_2 = ([ratings[name][sample] for sample in both] for name in (first, second))
            yield AnnotatorPair(first, second, agree(ratings_1, ratings_2, [cluster[sample] for sample in both], seed))


def _marks(units: Sequence[Sequence[Annotation]], clusters: NDArray[np.int64], seed: int) -> tuple[Interval, int]:
    statistics = np.zeros((len(units), 2))
    for row, unit in enumerate(units):
        marked = [_characters(annotation.gold) for annotation in unit if annotation.gold is not None]
        scores = [2 * len(a & b) / (len(a) + len(b)) for a, b in combinations(marked, 2) if a or b]
        if scores:
            statistics[row] = float(np.mean(scores)), 1.0
    ((interval,),) = Intervals(seed=seed).subset_intervals([Column(statistics, combine_mean)], [slice(None)], clusters)
    return interval, int(statistics[:, 1].sum())


def _characters(gold: Sequence[Evidence]) -> set[tuple[str, int]]:
    """Return the marked characters. A whole document has none, because people cannot mark it."""
    spans = ((unit.document_id, range(unit.start or 0, unit.end or 0)) for unit in gold)
    return {(name, position) for name, span in spans for position in span}
