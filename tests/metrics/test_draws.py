import numpy as np
import pytest

from components.metrics import draws
from components.metrics.draws import Draws, get_draws


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 20, 300])
def test_resampled_sums_equal_sums_of_drawn_rows(n: int) -> None:
    rows = np.random.default_rng(0).integers(0, 1000, (4, n)).astype(np.float64)
    random = np.random.default_rng((5, n))
    expected = np.array([rows[:, random.integers(n, size=n)].sum(axis=1) for _ in range(200)]).T
    assert np.array_equal(Draws(n, 200, (5,)).sums(rows), expected)


def test_block_size_does_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).integers(0, 1000, (2, 50)).astype(np.float64)
    in_one_block = Draws(50, 1001, (0,)).sums(rows)
    monkeypatch.setattr(draws, "_BLOCK_ELEMENTS", 500)
    assert np.array_equal(Draws(50, 1001, (0,)).sums(rows), in_one_block)
    monkeypatch.setattr(draws, "_MAX_CACHED_BYTES", 10)
    not_cached = Draws(50, 1001, (0,))
    assert not_cached.n_bytes < 50_000
    assert np.array_equal(not_cached.sums(rows), in_one_block)
    assert np.array_equal(not_cached.sums(rows), in_one_block), "drawn again, they are the same"


def test_resampled_sums_without_rows_are_zero() -> None:
    assert Draws(0, 100, (0,)).sums(np.zeros((2, 0))).tolist() == [[0.0] * 100] * 2


def test_cache_of_draws_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    recent = draws._RecentDraws()
    monkeypatch.setattr(draws, "_recent", recent)
    monkeypatch.setattr(draws, "_CACHED_BYTES", 30_000)
    first = get_draws(20, 500, (0,))
    assert get_draws(20, 500, (0,)) is first
    for seed in range(1, 4):
        get_draws(20, 500, (seed,))
    assert sum(drawn.n_bytes for drawn in recent._cached.values()) <= 30_000
    assert get_draws(20, 500, (0,)) is not first
