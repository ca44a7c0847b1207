"""Where the noise of a mean comes from: the choice of samples, the model that answers, the judge."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.grouped_mean import n_effective, shifts, variance_of_sum
from components.statistics.resampling import counts

N_RESAMPLES = 2_000
CONFIDENCE = 0.95
FEWEST_CLUSTERS = 20
"""Counted in clusters of equal size: below, percentiles of resampled clusters are too narrow for a variance."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Variance:
    """A component of variance with its interval; `value` is 0 where the estimate is negative, as chance can make it.

    `low` and `high` are None with too few clusters (`FEWEST_CLUSTERS`).
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class VarianceSplit:
    """Of a metric's value for one sample, one answer to it and one judgement of that: between samples, between answers
    to a sample, and between judgements of an answer. `generation` and `judge` are None where nothing is repeated to
    tell them by; what they would hold is then in the component before them.

    `of_choice` is the variance of the mean that the choice of `n_samples` samples makes, whatever the number of draws:
    samples of a cluster have much in common, so it may be far more than `sample` over `n_samples`. None for a single
    cluster.
    """

    n_samples: int
    n_clusters: int
    sample: Variance
    generation: Variance | None
    judge: Variance | None
    of_choice: float | None

    def standard_error(self, n_answers: int, n_judgements: int) -> float | None:
        """Of the mean over these samples, with so many answers to each and so many judgements of each of these."""
        if self.of_choice is None:
            return None
        n = self.n_samples
        total = self.of_choice
        total += self.generation.value / (n * n_answers) if self.generation else 0.0
        total += self.judge.value / (n * n_answers * n_judgements) if self.judge else 0.0
        return float(np.sqrt(total))

    @property
    def error_of_choice(self) -> float | None:
        """The standard error that is left of the mean with endless answers."""
        return None if self.of_choice is None else float(np.sqrt(self.of_choice))


def variance_split(values: Values, clusters: NDArray[np.int64], seed: int = 0) -> VarianceSplit | None:
    """Nested random effects of `values` float64[n_samples, n_answers, n_judgements], none of them NaN, estimated from
    the mean squares of a balanced design. None without two samples. `clusters` int64[n_samples] are resampled as wholes
    for the intervals, and left out as wholes for the variance of the mean.

    The j-th judgement of one answer and of another have nothing in common but their number: judgements are nested in
    answers, and answers in samples.
    Source: Searle, Casella & McCulloch 1992, "Variance Components", section 3.6.
    """
    n_samples = len(values)
    if n_samples < 2:
        return None
    sums = _sums_by_cluster(values, clusters)
    shape = values.shape[1:]
    value = _components(sums.sum(axis=0)[np.newaxis], shape)[0]
    bounds = _bounds(sums, shape, seed) if n_effective(clusters) >= FEWEST_CLUSTERS else [(None, None)] * len(value)
    sample, generation, judge = (
        Variance(max(0.0, float(one)), low, high) for one, (low, high) in zip(value, bounds, strict=True)
    )
    return VarianceSplit(
        n_samples=n_samples,
        n_clusters=len(sums),
        sample=sample,
        generation=generation if shape[0] > 1 else None,
        judge=judge if shape[1] > 1 else None,
        of_choice=_of_choice(values, clusters, value) if len(sums) > 1 else None,
    )


def _of_choice(values: Values, clusters: NDArray[np.int64], components: Values) -> float:
    """The variance of the mean less what the draws add to it: `sample` / n exactly where no sample depends on another.

    Draws are independent within clusters too. 0 where the estimate is negative.
    """
    n_samples, n_answers, n_judgements = values.shape
    _, generation, judge = components
    of_mean = variance_of_sum(shifts(values.mean(axis=(1, 2)), clusters), clusters)
    of_draws = (generation + judge / n_judgements) / (n_samples * n_answers)
    return max(0.0, of_mean - float(of_draws))


def _bounds(sums: Values, shape: tuple[int, ...], seed: int) -> list[tuple[float, float]]:
    """Of each component, percentiles of resampled clusters."""
    blocks = counts(len(sums), N_RESAMPLES, seed)
    resampled = np.concatenate([_components(block @ sums, shape) for block in blocks])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.maximum(np.nanquantile(resampled, [tail, 1 - tail], axis=0), 0.0).tolist()
    return list(zip(low, high, strict=True))


def _sums_by_cluster(values: Values, clusters: NDArray[np.int64]) -> Values:
    """Per cluster: samples, sum and sum of squares of their means, squares within samples, squares within answers."""
    of_answers = values.mean(axis=2)
    of_samples = of_answers.mean(axis=1)
    within_samples = ((of_answers - of_samples[:, np.newaxis]) ** 2).sum(axis=1)
    within_answers = ((values - of_answers[:, :, np.newaxis]) ** 2).sum(axis=(1, 2))
    centred = of_samples - of_samples.mean()
    rows = np.column_stack([np.ones(len(values)), centred, centred**2, within_samples, within_answers])
    _, cluster = np.unique(clusters, return_inverse=True)
    sums = np.zeros((int(cluster.max()) + 1, rows.shape[1]))
    np.add.at(sums, cluster, rows)
    return sums


def _components(sums: Values, shape: tuple[int, ...]) -> Values:
    """Variances between samples, answers and judgements, float64[n, 3]: negative ones stay, NaN for a single sample."""
    n_answers, n_judgements = shape
    n, total, squares, within_samples, within_answers = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        between = (squares - total**2 / n) / (n - 1)
        of_judge = within_answers / (n * n_answers * (n_judgements - 1)) if n_judgements > 1 else np.zeros(len(sums))
        of_answers = within_samples / (n * (n_answers - 1)) if n_answers > 1 else np.zeros(len(sums))
    generation = of_answers - of_judge / n_judgements if n_answers > 1 else np.zeros(len(sums))
    sample = between - (of_answers / n_answers if n_answers > 1 else of_judge / n_judgements)
    found: Values = np.where(n[:, np.newaxis] > 1, np.column_stack([sample, generation, of_judge]), np.nan)
    return found
