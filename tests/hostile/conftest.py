from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.planting import Planted, planted_in


@pytest.fixture
def evil(tmp_path: Path) -> Iterator[Planted]:
    """Fail the test if planted code ran, unless the test expected this and cleared the record."""
    with planted_in(tmp_path / "planted", "evil_package") as planted:
        yield planted
        assert not planted.has_run
