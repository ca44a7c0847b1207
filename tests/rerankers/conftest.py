"""Tiny models that several tests of rerankers share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.pretrained.load_once import release_all_but
from tests.models.tiny import save_qwen2, save_xlm_roberta_reranker


@pytest.fixture(scope="session")
def xlm_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cross-encoder."""
    return save_xlm_roberta_reranker(tmp_path_factory.mktemp("xlm_roberta"))


@pytest.fixture(scope="session")
def qwen2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a causal language model."""
    return save_qwen2(tmp_path_factory.mktemp("qwen2"))


@pytest.fixture
def released() -> Iterator[None]:
    """Release the models that a test loaded."""
    release_all_but(())
    yield
    release_all_but(())
