"""Components of variance, against simulated noise whose parts are known."""

import numpy as np
import pytest
from numpy.typing import NDArray

from components.statistics.noise_sources import Variance, variance_split

Values = NDArray[np.float64]


def bounds(part: Variance) -> tuple[float, float]:
    assert part.low is not None
    assert part.high is not None
    return part.low, part.high


def simulated(n: int, shape: tuple[int, int], deviations: tuple[float, float, float], seed: int = 0) -> Values:
    """Values of n samples, with noise of the samples, of the answers to them and of the judgements of these."""
    random = np.random.default_rng((seed, n, *shape))
    of_sample, of_answer, of_judgement = deviations
    return (
        0.5
        + of_sample * random.normal(size=(n, 1, 1))
        + of_answer * random.normal(size=(n, shape[0], 1))
        + of_judgement * random.normal(size=(n, *shape))
    )


def test_variance_components_are_recovered() -> None:
    split = variance_split(simulated(4000, (3, 2), (0.3, 0.2, 0.1)), np.arange(4000))
    assert split is not None
    assert split.generation is not None
    assert split.judge is not None
    found = [split.sample.value, split.generation.value, split.judge.value]
    assert found == pytest.approx([0.09, 0.04, 0.01], rel=0.08)
    for part, truth in ((split.sample, 0.09), (split.generation, 0.04), (split.judge, 0.01)):
        low, high = bounds(part)
        assert low < truth < high


def test_judgements_that_equal_answers_share_are_noise_of_the_judge() -> None:
    """Half of the samples have equal answers, whose judgements are the same stored replies."""
    n, n_answers, n_judgements = 4000, 3, 2
    values = simulated(n, (n_answers, n_judgements), (0.3, 0.0, 0.2))
    values[::2] = values[::2, :1]
    split = variance_split(values, np.arange(n))
    assert split is not None
    assert split.generation is not None
    assert split.judge is not None
    assert [split.sample.value, split.judge.value] == pytest.approx([0.09, 0.04], rel=0.08)
    assert split.generation.value == pytest.approx(0, abs=0.002)
    assert split.shared_judge == pytest.approx(0.02, rel=0.15)
    assert split.choice_error == pytest.approx(0.3 / np.sqrt(n), rel=0.03)
    judge = (0.04 / n_judgements + 0.04 / (n_answers * n_judgements)) / 2
    assert split.standard_error(n_answers, n_judgements) == pytest.approx(np.sqrt((0.09 + judge) / n), rel=0.03)


def test_variance_split_equals_hand_computed_values() -> None:
    """Two samples, two answers each, one judgement: squares 0.5 and 0.5 within, means 1 and 4."""
    split = variance_split(np.array([[[0.5], [1.5]], [[3.5], [4.5]]]), np.array([0, 1]))
    assert split is not None
    assert split.generation is not None
    assert (split.sample.value, split.generation.value, split.judge) == (4.5 - 0.25, 0.5, None)
    assert split.standard_error(2, 1) == pytest.approx(np.sqrt(4.25 / 2 + 0.5 / 4))


def test_missing_repeats_move_variance_to_the_previous_component() -> None:
    values = simulated(4000, (3, 2), (0.3, 0.2, 0.1))
    answers_alone = variance_split(values[:, :, :1], np.arange(4000))
    judgements_alone = variance_split(values[:, :1], np.arange(4000))
    assert answers_alone is not None
    assert judgements_alone is not None
    assert answers_alone.generation is not None
    assert answers_alone.judge is None
    assert answers_alone.generation.value == pytest.approx(0.05, rel=0.08)
    assert judgements_alone.generation is None
    assert judgements_alone.sample.value == pytest.approx(0.13, rel=0.08)


def test_missing_variance_component_is_near_zero_and_never_negative() -> None:
    for seed in range(20):
        split = variance_split(simulated(30, (2, 2), (0.3, 0.0, 0.3), seed), np.arange(30))
        assert split is not None
        assert split.generation is not None
        low, high = bounds(split.generation)
        assert 0 <= low <= split.generation.value <= high < 0.09


def test_samples_in_groups_make_wider_intervals() -> None:
    values = simulated(200, (2, 1), (0.3, 0.2, 0.0))
    alone = variance_split(values, np.arange(200))
    four = variance_split(np.tile(values, (4, 1, 1)), np.tile(np.arange(200), 4))
    assert alone is not None
    assert four is not None
    widths = [high - low for low, high in (bounds(alone.sample), bounds(four.sample))]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_error_of_the_mean_is_right_for_grouped_samples() -> None:
    """Against the spread of simulated means; a third of a sample's value is its group's."""
    clusters = np.repeat(np.arange(33), 9)
    squared_errors, means = [], []
    for seed in range(200):
        of_group = np.random.default_rng(seed).normal(scale=0.2, size=33)[clusters]
        values = of_group[:, np.newaxis, np.newaxis] + simulated(297, (3, 2), (0.2 * np.sqrt(2), 0.1, 0.1), seed)
        split = variance_split(values, clusters)
        assert split is not None
        error = split.standard_error(3, 2)
        assert error is not None
        squared_errors.append(error**2)
        means.append(values.mean())
    assert np.sqrt(np.mean(squared_errors)) == pytest.approx(np.std(means), rel=0.15)


def test_choice_variance_of_independent_samples_equals_sample_variance() -> None:
    split = variance_split(simulated(40, (3, 2), (0.3, 0.2, 0.1)), np.arange(40))
    assert split is not None
    assert split.choice_variance == pytest.approx(split.sample.value / 40)


@pytest.mark.parametrize("sizes", [[10] * 19, [100, *[1] * 90]])
def test_few_or_very_unequal_groups_have_no_intervals(sizes: list[int]) -> None:
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    split = variance_split(simulated(len(clusters), (2, 1), (0.3, 0.2, 0.0)), clusters)
    assert split is not None
    assert split.generation is not None
    assert [split.sample.low, split.sample.high, split.generation.low, split.generation.high] == [None] * 4
    assert split.choice_error is not None


def test_single_group_has_no_error() -> None:
    split = variance_split(simulated(30, (2, 1), (0.3, 0.2, 0.0)), np.zeros(30, dtype=np.int64))
    assert split is not None
    assert (split.standard_error(2, 1), split.choice_error, split.sample.low) == (None, None, None)


def test_single_sample_has_no_spread() -> None:
    assert variance_split(np.zeros((1, 2, 2)), np.zeros(1, dtype=np.int64)) is None


def test_variance_component_intervals_cover_the_truth() -> None:
    held = np.zeros(3)
    for seed in range(150):
        split = variance_split(simulated(60, (3, 2), (0.3, 0.2, 0.1), seed), np.arange(60))
        assert split is not None
        assert split.generation is not None
        assert split.judge is not None
        parts = (split.sample, split.generation, split.judge)
        for place, (part, truth) in enumerate(zip(parts, (0.09, 0.04, 0.01), strict=True)):
            low, high = bounds(part)
            held[place] += low <= truth <= high
    assert (held >= 0.88 * 150).all()
