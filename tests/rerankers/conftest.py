"""Tiny models that several tests of rerankers share."""

from pathlib import Path

import pytest

from tests.models.tiny import save_xlm_roberta_reranker


@pytest.fixture(scope="session")
def xlm_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cross-encoder."""
    return save_xlm_roberta_reranker(tmp_path_factory.mktemp("xlm_roberta"))
