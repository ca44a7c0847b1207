"""Where the real data are: tests that need them skip, with the reason, on a machine without them."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public data: $RAG_GRID_SHARED/data, or shared/data beside the repository."""
    repository = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("RAG_GRID_SHARED") or repository.parent / "shared") / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} does not exist (set RAG_GRID_SHARED to the folder that holds data/)")
    return folder
