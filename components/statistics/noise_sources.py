"""Sources of noise in a mean: the choice of samples, the answering model and the judge."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.grouped_mean import n_effective, shifts, sum_variance
from components.statistics.resampling import draw_counts

N_RESAMPLES = 2_000
CONFIDENCE = 0.95
MIN_CLUSTERS = 20
"""Clusters of equal size. With fewer, percentiles of resampled clusters are too narrow for a variance."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Variance:
    """A component of variance with its interval. `value` is 0 if the estimate is negative, which happens by chance.

    `low` and `high` are None with fewer than `MIN_CLUSTERS` clusters.
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class VarianceSplit:
    """Variance of a metric's value for one judgement of one answer to one sample, split by source.

    `sample` is between samples, `generation` between answers to a sample, `judge` between judgements of an answer.
    `generation` and `judge` are None if nothing is repeated to estimate them. Their variance is then part of the
    component before them. `shared_judge` is the part of `judge` that the answers to a sample have in common, because
    equal answers share a judgement.

    `choice_variance` is the part of the variance of the mean that comes from choosing `n_samples` samples. It does not
    depend on the number of draws. Samples of a cluster resemble each other, so it may be far more than `sample` /
    n_samples. It is None for a single cluster.
    """

    n_samples: int
    n_clusters: int
    sample: Variance
    generation: Variance | None
    judge: Variance | None
    shared_judge: float
    choice_variance: float | None

    def standard_error(self, n_answers: int, n_judgements: int) -> float | None:
        """Return the standard error of the mean over these samples, with this many answers each and judgements per
        answer.
        """
        if self.choice_variance is None:
            return None
        n = self.n_samples
        total = self.choice_variance
        total += self.generation.value / (n * n_answers) if self.generation else 0.0
        if self.judge:
            own = max(0.0, self.judge.value - self.shared_judge)
            total += (self.shared_judge + own / n_answers) / (n * n_judgements)
        return float(np.sqrt(total))

    @property
    def choice_error(self) -> float | None:
        """The standard error that remains with infinitely many answers."""
        return None if self.choice_variance is None else float(np.sqrt(self.choice_variance))


def variance_split(values: Values, clusters: NDArray[np.int64], seed: int = 0) -> VarianceSplit | None:
    """Estimate the random effects of `values`, float64[n_samples, n_answers, n_judgements] without NaN.

    The estimate uses the mean squares of a balanced design. Return None for fewer than two samples. Intervals resample
    whole clusters, `clusters` int64[n_samples], and the variance of the mean leaves out whole clusters.

    Answers are nested in samples. The j-th judgements of two equal answers are the same, and those of different answers
    share only their number. Judgements are therefore partly crossed with the answers to a sample, and partly nested in
    them.
    Source: Searle, Casella & McCulloch 1992, "Variance Components", section 3.6.
    """
    n_samples = len(values)
    if n_samples < 2:
        return None
    sums = _sums_by_cluster(values, clusters)
    shape = values.shape[1:]
    value = _components(sums.sum(axis=0)[np.newaxis], shape)[0]
    bounds = _bounds(sums, shape, seed) if n_effective(clusters) >= MIN_CLUSTERS else [(None, None)] * len(value)
    sample, generation, judge, shared = (
        Variance(max(0.0, float(one)), low, high) for one, (low, high) in zip(value, bounds, strict=True)
    )
    return VarianceSplit(
        n_samples=n_samples,
        n_clusters=len(sums),
        sample=sample,
        generation=generation if shape[0] > 1 else None,
        judge=judge if shape[1] > 1 else None,
        shared_judge=shared.value,
        choice_variance=_choice_variance(values, clusters, value) if len(sums) > 1 else None,
    )


def _choice_variance(values: Values, clusters: NDArray[np.int64], components: Values) -> float:
    """Return the variance of the mean minus the part that the draws add, or 0 if the estimate is negative.

    It equals `sample` / n if no sample depends on another. Draws are independent within clusters too.
    """
    n_samples, n_answers, n_judgements = values.shape
    _, generation, judge, shared = components
    mean_variance = sum_variance(shifts(values.mean(axis=(1, 2)), clusters), clusters)
    draw_variance = (generation + (judge - shared) / n_judgements) / (n_samples * n_answers)
    draw_variance += shared / (n_samples * n_judgements)
    return max(0.0, mean_variance - float(draw_variance))


def _bounds(sums: Values, shape: tuple[int, ...], seed: int) -> list[tuple[float, float]]:
    """Return percentiles of each component over resampled clusters."""
    blocks = draw_counts(len(sums), N_RESAMPLES, seed)
    resampled = np.concatenate([_components(block @ sums, shape) for block in blocks])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.maximum(np.nanquantile(resampled, [tail, 1 - tail], axis=0), 0.0).tolist()
    return list(zip(low, high, strict=True))


def _sums_by_cluster(values: Values, clusters: NDArray[np.int64]) -> Values:
    """Return per cluster: samples, sum and sum of squares of their means, and the squares of the means of answers and
    of judgements within samples, and of values within answers.
    """
    answer_means = values.mean(axis=2)
    sample_means = answer_means.mean(axis=1)
    within_samples = ((answer_means - sample_means[:, np.newaxis]) ** 2).sum(axis=1)
    between_judgements = ((values.mean(axis=1) - sample_means[:, np.newaxis]) ** 2).sum(axis=1)
    within_answers = ((values - answer_means[:, :, np.newaxis]) ** 2).sum(axis=(1, 2))
    centred = sample_means - sample_means.mean()
    rows = np.column_stack(
        [np.ones(len(values)), centred, centred**2, within_samples, between_judgements, within_answers]
    )
    _, cluster = np.unique(clusters, return_inverse=True)
    sums = np.zeros((int(cluster.max()) + 1, rows.shape[1]))
    np.add.at(sums, cluster, rows)
    return sums


def _components(sums: Values, shape: tuple[int, ...]) -> Values:
    """Return the variances between samples, answers and judgements, and the part of the last that answers share,
    float64[n, 4]. Negative estimates are not clipped; one sample gives NaN.
    """
    n_answers, n_judgements = shape
    n, total, squares, within_samples, between_judgements, within_answers = sums.T
    zeros = np.zeros(len(sums))
    with np.errstate(invalid="ignore", divide="ignore"):
        between = (squares - total**2 / n) / (n - 1)
        judge = within_answers / (n * n_answers * (n_judgements - 1)) if n_judgements > 1 else zeros
        answers = within_samples / (n * (n_answers - 1)) if n_answers > 1 else zeros
        shared = zeros
        if n_answers > 1 and n_judgements > 1:
            judgements = between_judgements / (n * (n_judgements - 1))
            shared = (n_answers * judgements - judge) / (n_answers - 1)
    if n_answers > 1:
        generation = answers - (judge - shared) / n_judgements
        sample = between - answers / n_answers - shared / n_judgements
    else:
        generation, sample = zeros, between - judge / n_judgements
    variances: Values = np.where(n[:, np.newaxis] > 1, np.column_stack([sample, generation, judge, shared]), np.nan)
    return variances
