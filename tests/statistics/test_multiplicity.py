import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from components.statistics import holm


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_equals_statsmodels(n: int) -> None:
    p = np.random.default_rng(n).random(n) ** 3
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


def test_equal_p_values_stay_equal() -> None:
    assert holm([0.01, 0.2, 0.01]).tolist() == [0.03, 0.2, 0.03]


def test_a_comparison_that_was_not_made_does_not_count() -> None:
    np.testing.assert_array_equal(holm([0.02, np.nan, 0.5]), [0.04, np.nan, 0.5])


def test_of_nothing_is_nothing() -> None:
    assert holm([]).shape == (0,)


def test_is_never_above_one() -> None:
    assert holm([0.9, 0.8, 0.7]).tolist() == [1.0, 1.0, 1.0]
