"""Partial pooling, compared with the full model, and with simulated matrices whose true values are known."""

import numpy as np
import pytest
from numpy.typing import NDArray

from components.metrics import pooling
from components.metrics.pooling import Fields, PooledEstimates, pool_fields

Values = NDArray[np.float64]


def matrix(n_topics: int, n_tasks: int, seed: int, spreads: tuple[float, float, float]) -> tuple[Fields, Values]:
    """Fields of 2 to 10 samples whose standard deviation is .3, and their true values; a tenth of the fields is empty.

    `spreads` are the standard deviations of topics, tasks and residuals.
    """
    random = np.random.default_rng(seed)
    topic, task = np.divmod(np.arange(n_topics * n_tasks), n_tasks)
    is_present = random.random(len(topic)) > 0.1
    topic, task = topic[is_present], task[is_present]
    levels = [
        spread * random.normal(size=n) for spread, n in zip(spreads, (n_topics, n_tasks, len(topic)), strict=True)
    ]
    truth = 0.5 + levels[0][topic] + levels[1][task] + levels[2]
    n = random.integers(2, 11, len(topic))
    samples = [value + 0.3 * random.normal(size=size) for value, size in zip(truth, n, strict=True)]
    value = np.array([own.mean() for own in samples])
    error = np.array([own.std(ddof=1) for own in samples]) / np.sqrt(n)
    return Fields(topic, task, value, error, n.astype(np.float64), n.astype(np.float64)), truth


def pooled(fields: Fields) -> PooledEstimates:
    found = pool_fields(fields)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "spreads", [(0.1, 0.1, 0.05), (0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.05, 0.2, 0.1), (0.15, 0.15, 0.15)], ids=str
)
@pytest.mark.parametrize("shape", [(16, 5), (5, 4)], ids=str)
def test_pooled_intervals_contain_the_truth_and_are_narrower_than_raw(
    shape: tuple[int, int], spreads: tuple[float, float, float]
) -> None:
    held, squares, raw_squares, widths = [], [], [], []
    for seed in range(60):
        fields, truth = matrix(*shape, seed, spreads)
        found = pooled(fields)
        held.append((np.abs(found.value - truth) <= 1.96 * found.error).mean())
        squares.append(((found.value - truth) ** 2).mean())
        raw_squares.append(((fields.value - truth) ** 2).mean())
        widths.append((found.error / (0.3 / np.sqrt(fields.n_effective))).mean())
    assert np.mean(held) >= 0.92
    assert np.mean(squares) < 0.9 * np.mean(raw_squares)
    assert np.mean(widths) < 0.95


def test_pooled_estimate_is_the_best_linear_prediction() -> None:
    """Compares with full covariance matrices at the estimated variances."""
    fields, _ = matrix(6, 4, 1, (0.1, 0.1, 0.1))
    noise = pooling._noise(fields)
    assert noise is not None
    topics, tasks, residual = pooling._variances(fields, noise)
    same_topic = fields.topic[:, np.newaxis] == fields.topic
    same_task = fields.task[:, np.newaxis] == fields.task
    signal = topics * same_topic + tasks * same_task + residual * np.eye(len(noise))
    inverse = np.linalg.inv(signal + np.diag(noise))
    one = np.ones(len(noise))
    mean = one @ inverse @ fields.value / (one @ inverse @ one)
    gain = signal @ inverse
    lost = 1 - gain @ one
    variance = np.diag(signal - gain @ signal) + lost**2 / (one @ inverse @ one)
    found = pooled(fields)
    np.testing.assert_allclose(found.value, mean + gain @ (fields.value - mean), rtol=1e-9)
    np.testing.assert_allclose(found.error, np.sqrt(variance), rtol=1e-9)


def test_pooled_variances_maximize_the_penalised_likelihood() -> None:
    """No other variances near the estimated ones make the data likelier."""
    fields, _ = matrix(16, 5, 2, (0.15, 0.1, 0.1))
    noise = pooling._noise(fields)
    assert noise is not None

    def likelihood(logs: Values) -> float:
        topics, tasks, residual = np.exp(logs)
        same_topic = fields.topic[:, np.newaxis] == fields.topic
        same_task = fields.task[:, np.newaxis] == fields.task
        covariance = topics * same_topic + tasks * same_task + np.diag(residual + noise)
        inverse = np.linalg.inv(covariance)
        total = inverse.sum()
        deviation = fields.value - (inverse @ fields.value).sum() / total
        restricted = np.linalg.slogdet(covariance)[1] + np.log(total) + deviation @ inverse @ deviation
        return float(-restricted / 2 + logs.sum() / 2)

    logs = np.log(pooling._variances(fields, noise))
    best = likelihood(logs)
    for step in (0.3, -0.3):
        for place in range(3):
            assert likelihood(logs + step * np.eye(3)[place]) < best


def test_field_of_few_samples_shrinks_more_than_one_of_many() -> None:
    fields, _ = matrix(8, 5, 3, (0.05, 0.05, 0.02))
    n = np.where(np.arange(len(fields.value)) == 0, 1.0, np.where(np.arange(len(fields.value)) == 1, 200.0, 6.0))
    outlying = fields._replace(n_effective=n, n_clusters=n, value=np.where(np.arange(len(n)) < 2, 1.0, fields.value))
    found = pooled(outlying)
    assert found.value[0] < 0.75 < 0.9 < found.value[1]
    assert found.error[0] > found.error[1]


class TestTooLittleToLearnFrom:
    fields, _ = matrix(5, 4, 0, (0.1, 0.1, 0.1))

    def test_single_topic_or_few_fields_are_not_pooled(self) -> None:
        assert pool_fields(self.fields) is not None
        assert pool_fields(self.fields._replace(topic=np.zeros_like(self.fields.topic))) is None
        assert pool_fields(Fields(*(column[:5] for column in self.fields))) is None

    def test_fields_without_two_clusters_are_not_pooled(self) -> None:
        n = len(self.fields.value)
        assert pool_fields(self.fields._replace(error=np.full(n, np.nan), n_clusters=np.ones(n))) is None

    @pytest.mark.parametrize("value", [0.1, 0.2, 1 / 3, 0.0, 1e-9, 1e9])
    def test_constant_values_with_rounding_errors_are_not_pooled(self, value: float) -> None:
        """precision@10 of one gold document is 0.1 for every question that finds it: the mean of ten is not exact."""
        n = len(self.fields.value)
        for seed in range(20):
            random = np.random.default_rng(seed)
            values = value * (1 + 1e-16 * random.integers(-1, 2, n))
            error = np.where(random.random(n) < 0.2, 5.7e-16 * value, 0.0)
            assert pool_fields(self.fields._replace(value=values, error=error)) is None

    def test_fields_without_variance_are_not_pooled(self) -> None:
        assert pool_fields(self.fields._replace(error=np.zeros(len(self.fields.value)))) is None
