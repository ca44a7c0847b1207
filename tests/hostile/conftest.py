from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.planting import Planted, planted_in


@pytest.fixture
def evil(tmp_path: Path) -> Iterator[Planted]:
    """Fails the test if what was planted has run, unless the test asked for it and forgot it."""
    with planted_in(tmp_path / "planted", "evil_package") as planted:
        yield planted
        assert not planted.has_run
