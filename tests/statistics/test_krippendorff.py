from itertools import combinations

import numpy as np
import pytest

from components.statistics.krippendorff import Alpha, MeasurementLevel, krippendorff_alpha

NONE = None
RATERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3),
    (NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE),
)
UNITS = tuple(zip(*RATERS, strict=True))
"""The example of Krippendorff 2011, section C: 4 observers, 12 units, 41 values, one of them alone in its unit."""


@pytest.mark.parametrize(
    ("level", "published"),
    [(MeasurementLevel.NOMINAL, 0.743), (MeasurementLevel.ORDINAL, 0.815), (MeasurementLevel.INTERVAL, 0.849)],
)
def test_krippendorff_alpha_equals_his_published_example(level: MeasurementLevel, published: float) -> None:
    found = krippendorff_alpha(UNITS, level)
    assert found.value == pytest.approx(published, abs=0.0005)
    assert (found.n_units, found.n_values) == (11, 40)
    assert found.low is not None
    assert found.high is not None
    assert found.low < published < found.high


def test_nominal_alpha_of_two_raters_equals_the_published_value() -> None:
    """Krippendorff 2011, section B; and pair by pair."""
    units = list(zip("aabbdcccedda", "babbbccceddd", strict=True))
    found = krippendorff_alpha(units, MeasurementLevel.NOMINAL)
    assert found.value == pytest.approx(0.692, abs=0.0005)
    observed = sum(a != b for a, b in units) / 12
    values = [value for unit in units for value in unit]
    expected = sum(a != b for a, b in combinations(values, 2)) / (24 * 23 / 2)
    assert found.value == pytest.approx(1 - observed / expected)


def test_krippendorff_alpha_ignores_missing_values_and_order() -> None:
    shuffled = [tuple(value for value in unit[::-1] if value is not None) for unit in UNITS]
    for level in MeasurementLevel:
        assert krippendorff_alpha(shuffled, level).value == pytest.approx(krippendorff_alpha(UNITS, level).value)


def test_interval_alpha_is_invariant_to_shift_and_scale() -> None:
    moved = [tuple(None if value is None else 1e-3 + 1e-9 * value for value in unit) for unit in UNITS]
    assert krippendorff_alpha(moved, MeasurementLevel.INTERVAL).value == pytest.approx(0.849, abs=0.0005)
    assert krippendorff_alpha(moved, MeasurementLevel.ORDINAL).value == pytest.approx(0.815, abs=0.0005)


def test_krippendorff_alpha_is_zero_by_chance_and_one_for_agreement() -> None:
    random = np.random.default_rng(0)
    by_chance = random.integers(4, size=(2000, 3)).tolist()
    for level in MeasurementLevel:
        assert krippendorff_alpha(by_chance, level, n_draws=50).value == pytest.approx(0, abs=0.03)
        agreed = krippendorff_alpha([(unit[0],) * 3 for unit in by_chance], level, n_draws=50)
        assert (agreed.value, agreed.low, agreed.high) == (1.0, None, None)


def test_krippendorff_alpha_is_undefined_without_comparable_values() -> None:
    assert krippendorff_alpha([], MeasurementLevel.NOMINAL) == Alpha(None, None, None, 0, 0)
    assert krippendorff_alpha([("a",), (None, "b"), ()], MeasurementLevel.NOMINAL) == Alpha(None, None, None, 0, 0)
    assert krippendorff_alpha([("a", "a")] * 9, MeasurementLevel.NOMINAL) == Alpha(None, None, None, 9, 18)
    assert krippendorff_alpha([(3, 3)] * 9, MeasurementLevel.INTERVAL) == Alpha(None, None, None, 9, 18)


def test_krippendorff_draws_clusters_as_a_whole() -> None:
    copies = [unit for unit in UNITS for _ in range(10)]
    alone = krippendorff_alpha(copies, MeasurementLevel.NOMINAL)
    together = krippendorff_alpha(
        copies, MeasurementLevel.NOMINAL, clusters=[place // 10 for place in range(len(copies))]
    )
    once = krippendorff_alpha(UNITS, MeasurementLevel.NOMINAL)
    assert alone.value == together.value
    widths = []
    for found in (alone, together, once):
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths[0] < widths[1] / 2
    assert widths[1] == pytest.approx(widths[2], rel=0.15)


def test_krippendorff_interval_needs_five_clusters_and_follows_the_seed() -> None:
    few = krippendorff_alpha(UNITS, MeasurementLevel.NOMINAL, clusters=[place % 4 for place in range(12)])
    assert few.value is not None
    assert (few.low, few.high) == (None, None)
    first, again, other = (krippendorff_alpha(UNITS, MeasurementLevel.ORDINAL, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("value", ["3", float("nan"), float("inf")])
def test_ordinal_values_must_be_finite_numbers(value: object) -> None:
    with pytest.raises(ValueError, match="expect finite numbers"):
        krippendorff_alpha([(1, value)], MeasurementLevel.ORDINAL)
    with pytest.raises(ValueError, match="clusters: got 1 for 2 units"):
        krippendorff_alpha([(1, 2), (2, 3)], MeasurementLevel.NOMINAL, clusters=[1])
