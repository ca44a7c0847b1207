"""The data set of an exported pipeline."""

import pytest

from components.datasets.left_behind import LeftBehind
from components.errors import DataError
from components.protocols import Dataset


def test_loading_a_data_set_that_was_not_exported_is_an_error() -> None:
    data = LeftBehind("demo")
    assert isinstance(data, Dataset)
    assert data.fingerprint() == ""
    with pytest.raises(DataError, match="the data set demo is not part of an exported pipeline"):
        data.load()
