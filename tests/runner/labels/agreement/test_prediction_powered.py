"""The estimated human mean of all answers, compared with plain formulas and with simulated annotators."""

import numpy as np
import pytest
from numpy.typing import NDArray

from runner.labels.agreement.prediction_powered import PredictionPowered, prediction_powered

Values = NDArray[np.float64]


def bounds(found: PredictionPowered) -> tuple[float, float]:
    assert found.interval is not None
    return found.interval


def answers(n: int, share: float, seed: int, *, right: tuple[float, float] = (0.95, 0.7)) -> tuple[Values, Values]:
    """People's grades, a share of them 1, and grades of a judge with the given accuracies for ones and zeros."""
    random = np.random.default_rng(seed)
    people = (random.random(n) < share).astype(np.float64)
    is_right = random.random(n) < np.where(people == 1, *right)
    return people, np.where(is_right, people, 1 - people)


def labelled(people: Values, n: int, seed: int = 0) -> Values:
    """The grades of n answers drawn at random."""
    labels = np.full(len(people), np.nan)
    drawn = np.random.default_rng((seed, n)).choice(len(people), n, replace=False)
    labels[drawn] = people[drawn]
    return labels


def test_prediction_powered_mean_subtracts_the_error_of_the_judge() -> None:
    people, judged = answers(2000, 0.5, 1, right=(0.9, 0.6))
    labels = labelled(people, 200)
    found = prediction_powered(judged, labels, np.arange(2000))
    known = ~np.isnan(labels)
    assert found.bias == pytest.approx(judged[known].mean() - people[known].mean())
    left = people[known] - found.weight * judged[known]
    assert found.mean == pytest.approx(found.weight * judged[~known].mean() + left.mean())
    assert abs(judged.mean() - people.mean()) > 0.1, "the judge alone is wrong"
    assert abs(found.mean - people.mean()) < 0.05


def test_prediction_powered_interval_is_narrower_with_a_good_judge() -> None:
    people, good = answers(2000, 0.5, 2, right=(0.98, 0.98))
    _, bad = answers(2000, 0.5, 3)
    labels = labelled(people, 100)
    widths = []
    for judged in (good, bad):
        found = prediction_powered(judged, labels, np.arange(2000))
        low, high = bounds(found)
        widths.append(high - low)
    of_labels_alone = 2 * 1.96 * np.std(labels[~np.isnan(labels)]) / 10
    assert widths[0] < 0.5 * of_labels_alone
    assert widths[1] < 1.15 * of_labels_alone


def test_labels_of_dependent_samples_widen_the_interval() -> None:
    people, judged = answers(400, 0.6, 4)
    labels = labelled(people, 100)
    alone = bounds(prediction_powered(judged, labels, np.arange(400)))
    four = bounds(prediction_powered(np.tile(judged, 4), np.tile(labels, 4), np.tile(np.arange(400), 4)))
    assert four == pytest.approx(alone, abs=0.01)


def test_full_agreement_does_not_make_the_estimate_certain() -> None:
    judged = np.ones(200)
    labels = labelled(np.ones(200), 20)
    found = prediction_powered(judged, labels, np.arange(200))
    assert (found.mean, found.bias) == (1.0, 0.0)
    assert bounds(found)[0] < 0.9
    assert found.bias_interval is not None
    assert found.bias_interval[0] < -0.02 < 0.02 < found.bias_interval[1]


def test_prediction_powered_mean_of_full_labels_is_the_human_mean() -> None:
    people, judged = answers(50, 0.5, 5)
    found = prediction_powered(judged, people, np.arange(50))
    assert (found.mean, found.weight, found.n_labelled) == (pytest.approx(people.mean()), 0.0, 50)


def test_prediction_powered_mean_of_few_labels_has_no_interval() -> None:
    people, judged = answers(50, 0.5, 6)
    found = prediction_powered(judged, labelled(people, 4), np.arange(50))
    assert (found.interval, found.bias_interval) == (None, None)


def test_unlabelled_samples_of_one_cluster_have_zero_weight() -> None:
    people, judged = answers(60, 0.5, 7)
    labels = np.where(np.arange(60) < 20, people, np.nan)
    found = prediction_powered(judged, labels, np.minimum(np.arange(60), 20))
    assert (found.weight, found.mean) == (0.0, pytest.approx(people[:20].mean()))
    assert found.interval is not None


@pytest.mark.parametrize(
    ("sizes", "n_labelled"), [([100, 50, 20, *[5] * 20], 40), ([100, *[1] * 50], 30), ([9] * 33, 40)]
)
def test_prediction_powered_intervals_cover_the_truth_with_unequal_clusters(sizes: list[int], n_labelled: int) -> None:
    """Samples of a cluster share their chance of a 1, so their correlation is .5."""
    random = np.random.default_rng(11)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    held = 0
    for seed in range(300):
        chances = random.beta(0.5, 0.5, len(sizes))[clusters]
        people = (random.random(len(clusters)) < chances).astype(np.float64)
        judged = np.where(random.random(len(clusters)) < 0.1, 1 - people, people)
        low, high = bounds(prediction_powered(judged, labelled(people, n_labelled, seed), clusters))
        held += low <= 0.5 <= high
    assert held >= 0.92 * 300


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("n", [8, 20, 50])
def test_prediction_powered_intervals_cover_the_truth(share: float, n: int) -> None:
    right = (0.95, 0.7)
    bias = share * right[0] + (1 - share) * (1 - right[1]) - share
    held = held_bias = 0
    for seed in range(200):
        people, judged = answers(10 * n, share, seed)
        found = prediction_powered(judged, labelled(people, n, seed), np.arange(10 * n))
        low, high = bounds(found)
        held += low <= share <= high
        assert found.bias_interval is not None
        held_bias += found.bias_interval[0] <= bias <= found.bias_interval[1]
    assert held >= 0.92 * 200
    assert held_bias >= 0.9 * 200
