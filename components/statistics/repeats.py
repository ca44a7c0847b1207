"""Where the noise of a mean comes from: the choice of samples, the model that answers, the judge."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.resampling import counts

N_RESAMPLES = 2_000
CONFIDENCE = 0.95

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Variance:
    """A component of variance with its interval; `value` is 0 where the estimate is negative, as chance can make it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class VarianceSplit:
    """Of a metric's value for one sample, one answer to it and one judgement of that: between samples, between answers
    to a sample, and between judgements of an answer. `generation` and `judge` are None where nothing is repeated to
    tell them by; what they would hold is then in the component before them.
    """

    sample: Variance
    generation: Variance | None
    judge: Variance | None

    def standard_error(self, n_samples: int, n_answers: int, n_judgements: int) -> float:
        """Of a mean over so many samples, with so many answers to each and so many judgements of each of these."""
        n = n_samples
        total = self.sample.value / n
        total += self.generation.value / (n * n_answers) if self.generation else 0.0
        total += self.judge.value / (n * n_answers * n_judgements) if self.judge else 0.0
        return float(np.sqrt(total))


def variance_split(values: Values, clusters: NDArray[np.int64], seed: int = 0) -> VarianceSplit | None:
    """Nested random effects of `values` float64[n_samples, n_answers, n_judgements], none of them NaN, estimated from
    the mean squares of a balanced design. None without two samples. `clusters` int64[n_samples] are resampled as wholes
    for the intervals.

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
    blocks = counts(len(sums), N_RESAMPLES, seed)
    resampled = np.concatenate([_components(block @ sums, shape) for block in blocks])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(resampled, [tail, 1 - tail], axis=0)
    sample, generation, judge = (
        Variance(*(max(0.0, float(bound)) for bound in one)) for one in zip(value, low, high, strict=True)
    )
    return VarianceSplit(sample, generation if shape[0] > 1 else None, judge if shape[1] > 1 else None)


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
