"""The lists by which tests are ordered and left out name tests that exist."""

from pathlib import Path

import pytest

from tests.conftest import LOADING, WHOLE

TESTS = Path(__file__).parent


@pytest.mark.parametrize("prefix", [*LOADING, *WHOLE])
def test_every_listed_prefix_matches_a_test_file(prefix: str) -> None:
    path, _, name = prefix.partition("::")
    files = [file for file in TESTS.glob(f"{path}*") if file.suffix == ".py" or file.is_dir()]
    assert files
    assert not name or name in files[0].read_text(encoding="utf-8")
