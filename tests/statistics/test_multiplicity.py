import numpy as np
import pytest

from components.statistics import benjamini_hochberg, holm, selected_level


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_holm_and_benjamini_hochberg_equal_statsmodels(n: int) -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(n).random(n) ** 3
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)
    np.testing.assert_allclose(benjamini_hochberg(p), multipletests(p, method="fdr_bh")[1], rtol=1e-12)


def test_equal_p_values_have_equal_adjustments() -> None:
    assert holm([0.01, 0.2, 0.01]).tolist() == [0.03, 0.2, 0.03]
    assert benjamini_hochberg([0.02, 0.2, 0.02]).tolist() == pytest.approx([0.03, 0.2, 0.03])


def test_missing_p_values_are_ignored_in_adjustments() -> None:
    np.testing.assert_array_equal(holm([0.02, np.nan, 0.5]), [0.04, np.nan, 0.5])
    np.testing.assert_array_equal(benjamini_hochberg([0.02, np.nan, 0.5]), [0.04, np.nan, 0.5])


def test_empty_family_of_p_values_is_empty() -> None:
    assert holm([]).shape == benjamini_hochberg([]).shape == (0,)
    assert selected_level([], 0.05) == selected_level([np.nan], 0.05) == 0.0


def test_adjusted_p_is_never_above_one() -> None:
    assert holm([0.9, 0.8, 0.7]).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("p", "level"), [([0.001, 0.02, 0.5, 0.9], 0.05 * 2 / 4), ([0.001, np.nan, 0.9], 0.05 / 2), ([0.3, 0.9], 0.0)]
)
def test_selected_level_is_the_share_of_findings(p: list[float], level: float) -> None:
    assert selected_level(p, 0.05) == pytest.approx(level)


def test_selected_level_agrees_with_benjamini_hochberg() -> None:
    """Otherwise, a family could count as a finding without a single finding in it."""
    random = np.random.default_rng(0)
    for _ in range(200):
        p = random.random(20) ** 4
        assert ((benjamini_hochberg(p) <= 0.05) == (p <= selected_level(p, 0.05))).all()
