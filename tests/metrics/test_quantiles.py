import numpy as np
import pytest

from components.metrics.quantiles import quantiles

LEVELS = [0.025, 0.5, 0.975]


def numpys(values: np.ndarray) -> np.ndarray:
    return np.array([np.nanquantile(row, LEVELS) for row in values])


@pytest.mark.parametrize("n_values", [1, 2, 3, 40, 41, 1000])
@pytest.mark.parametrize("share_nan", [0.0, 0.3])
def test_quantiles_equal_numpy_to_the_byte(n_values: int, share_nan: float) -> None:
    random = np.random.default_rng(n_values)
    values = random.normal(size=(8, n_values))
    values[1] = np.round(values[1])
    values[:, 1:][random.random((8, n_values - 1)) < share_nan] = np.nan
    assert quantiles(values, LEVELS).tobytes() == numpys(values).tobytes()


def test_column_of_nan_has_no_quantile() -> None:
    found = quantiles(np.array([[np.nan, np.nan], [1.0, 1.0]]), LEVELS)
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [1.0, 1.0, 1.0]
