import numpy as np

from components.means import combine_mean, mean_scores
from components.records import ScoreState


def test_mean_scores_keep_values_and_reasons() -> None:
    scores = mean_scores([0.5, ScoreState.NO_GOLD, 0.0])
    np.testing.assert_array_equal(scores.statistics, [[0.5, 1], [0, 0], [0, 1]])
    np.testing.assert_array_equal(scores.values, [0.5, np.nan, 0.0])
    assert scores.states == (ScoreState.VALUE, ScoreState.NO_GOLD, ScoreState.VALUE)


def test_means_of_an_empty_list_have_two_columns_and_no_rows() -> None:
    assert mean_scores([]).statistics.shape == (0, 2)


def test_left_out_rows_do_not_lower_the_mean() -> None:
    scores = mean_scores([1.0, ScoreState.UNPARSABLE, 0.5])
    assert combine_mean(scores.statistics.sum(axis=0)) == 0.75
