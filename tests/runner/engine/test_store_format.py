"""A store says which format it has, and one of another format is not read."""

import json
from pathlib import Path

import pytest

from components.errors import StoreError
from runner.engine.store import Store


def test_new_store_has_format_3(tmp_path: Path) -> None:
    Store(tmp_path)
    assert json.loads((tmp_path / "store.json").read_text()) == {"format": 3}
    Store(tmp_path)


@pytest.mark.parametrize(
    ("found", "remedy"), [(2, "Choose another run.store_dir"), (4, "Upgrade rag-grid, or choose another")]
)
def test_store_of_another_format_is_refused_with_a_remedy(tmp_path: Path, found: int, remedy: str) -> None:
    (tmp_path / "store.json").write_text(json.dumps({"format": found}))
    with pytest.raises(StoreError, match=rf"the store has format {found}, this version reads format 3\. {remedy}"):
        Store(tmp_path)
