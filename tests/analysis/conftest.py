from pathlib import Path

import pytest

from tests.analysis import tiny_sweep


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tiny sweep, which no test may change."""
    return tiny_sweep.write(tmp_path_factory.mktemp("results") / "tiny")
