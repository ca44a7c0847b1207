"""Effect of a difference on the variance of scores that are 0 or 1, and the detectable differences."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from components.statistics import (
    PairedTest,
    RightOrWrong,
    SampleScores,
    assumed_precision,
    measured_precision,
    minimum_detectable_difference,
    right_or_wrong,
)
from tests.statistics.cells import scores_of

FIRST_TWO = np.array([[-1.0], [1.0], [0.0]])


def three_cells() -> list[NDArray[np.float64]]:
    """Return cells with 18, 17 and 10 of 20 samples right. The first two disagree on three samples."""
    cells = np.zeros((3, 20))
    cells[0, :18] = cells[1, 1:17] = cells[1, 19] = cells[2, :10] = 1.0
    return list(cells)


class TestCellSimilarity:
    def test_disagreement_of_two_cells_is_the_share_of_different_samples(self) -> None:
        (found,) = right_or_wrong(scores_of(three_cells(), np.arange(20)), FIRST_TWO)
        assert found is not None
        assert found == RightOrWrong(pytest.approx(3 / 20), pytest.approx(17.5 / 20))  # type: ignore[arg-type]

    def test_disagreement_of_levels_averages_their_cells(self) -> None:
        weights = np.array([[0.5], [-1.0], [0.5]])
        (found,) = right_or_wrong(scores_of(three_cells(), np.arange(20)), weights)
        assert found is not None
        assert found.disagreement == pytest.approx((3 / 20 + 9 / 20) / 2)

    def test_disagreement_weighs_strata_equally(self) -> None:
        strata = (np.arange(20) >= 16).astype(np.int64)  # the cells disagree on 1 of 16, and on 2 of 4
        scores = scores_of([*three_cells()[:2], np.zeros(20)], np.arange(20), strata)
        (found,) = right_or_wrong(scores, FIRST_TWO)
        assert found is not None
        assert found.disagreement == pytest.approx((1 / 16 + 2 / 4) / 2)

    def test_graded_and_corpus_scores_are_not_right_or_wrong(self) -> None:
        graded = [*three_cells()[:2], np.full(20, 0.5)]
        assert right_or_wrong(scores_of(graded, np.arange(20)), FIRST_TWO) == [None]
        of_a_corpus = scores_of(three_cells(), np.arange(20))
        combined = SampleScores(of_a_corpus.statistics, of_a_corpus.clusters, of_a_corpus.strata, lambda sums: sums)
        assert right_or_wrong(combined, FIRST_TWO) == [None]

    def test_cells_without_disagreement_are_not_right_or_wrong(self) -> None:
        cells = three_cells()
        assert right_or_wrong(scores_of([cells[0], cells[0], cells[2]], np.arange(20)), FIRST_TWO) == [None]


class TestTheDifferenceWithItsOwnVariance:
    def test_right_or_wrong_variance_matches_mcnemars_table(self) -> None:
        """If cells disagree on a share q + d of n independent pairs, the variance is (q + d - d^2) / n."""
        n, disagreement, critical = 200, 0.05, 2.8
        d = RightOrWrong(disagreement, 1.0).with_effect(critical * (disagreement / n) ** 0.5)
        assert d == pytest.approx(critical * ((disagreement + d - d**2) / n) ** 0.5)

    @pytest.mark.parametrize("size", [0.001, 0.05, 0.4])
    def test_score_without_effect_inverts_score_with_effect(self, size: float) -> None:
        scores = RightOrWrong(0.1, 1.0)
        assert scores.without_effect(scores.with_effect(size)) == pytest.approx(size)

    def test_impossible_detectable_difference_is_infinite(self) -> None:
        assert RightOrWrong(0.1, 0.6).with_effect(0.5) == np.inf

    def test_few_clusters_leave_no_detectable_difference(self) -> None:
        for n_clusters, is_told in ((14, False), (15, True)):
            (scores,) = right_or_wrong(scores_of(three_cells(), np.arange(20) % n_clusters), FIRST_TWO)
            assert scores is not None
            assert np.isfinite(scores.with_effect(0.01)) == is_told

    def test_required_number_of_samples_makes_the_difference_detectable(self) -> None:
        precision = measured_precision(scores_of(three_cells(), np.arange(20)), larger_is_better=True)
        assert precision is not None
        times = precision.times_as_many(0.1, 3)
        found = [precision.detectable(3, own)[place] for place, own in enumerate(times)]
        assert found == pytest.approx([0.1, 0.1], rel=0.03)

    def test_assumed_precision_does_not_use_the_scores(self) -> None:
        assert assumed_precision(np.arange(20), deviation=0.2, correlation=0).right_or_wrong == (None, None)


def pairs_of_cells(
    n_pairs: int, share_right: float, gain: NDArray[np.float64], random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scores, float64[n_samples, 2, n_pairs], in which the second of two cells is right more often by `gain`.

    Half of the gain is taken from the first cell where there is room for the other half. Samples are in groups, and
    cells agree on hard samples.
    """
    clusters = np.repeat(np.arange(100), np.resize([1, 5, 3], 100))

    def part() -> NDArray[np.float64]:
        of_groups, own = random.normal(size=(2, len(clusters), n_pairs))
        found: NDArray[np.float64] = (of_groups[clusters] + own) / 2**0.5
        return found

    hard = part()
    up = np.minimum(gain / 2, 1 - share_right)
    limits = share_right + np.array([up - gain, up])
    latent = np.stack([0.7**0.5 * hard + 0.3**0.5 * part() for _ in range(2)], axis=1)
    return (stats.norm.cdf(latent) <= limits).astype(np.float64), clusters


@pytest.mark.parametrize("share_right", [0.93, 0.7])
def test_stated_difference_is_found_near_the_ceiling(share_right: float) -> None:
    n_pairs, test = 100, PairedTest(n_resamples=499)
    random = np.random.default_rng(5)
    cells, clusters = pairs_of_cells(n_pairs, share_right, np.zeros(n_pairs), random)
    before = test.compare(scores_of([np.zeros(len(cells)), *(cells[:, 1] - cells[:, 0]).T], clusters), 0.05)
    sizes = np.zeros(n_pairs)
    for place, comparison in enumerate(before):
        (own,) = right_or_wrong(scores_of(list(cells[:, :, place].T), clusters), FIRST_TWO[:2])
        assert comparison.standard_error is not None
        assert comparison.critical is not None
        sizes[place] = minimum_detectable_difference(
            comparison.standard_error, comparison.df, critical=comparison.critical, right_or_wrong=own
        )
    cells, clusters = pairs_of_cells(n_pairs, share_right, sizes, random)
    after = test.compare(scores_of([np.zeros(len(cells)), *(cells[:, 1] - cells[:, 0]).T], clusters), 0.05)
    n_found = sum(comparison.p is not None and comparison.p <= 0.05 for comparison in after)
    assert n_found >= 0.8 * n_pairs
    assert sizes.mean() < 2 * np.median([comparison.standard_error for comparison in before]) * (1.98 + 0.85)
