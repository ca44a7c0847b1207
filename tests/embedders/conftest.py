"""Tiny models that several tests of embedders share."""

from pathlib import Path

import pytest

from tests.models.tiny import save_bert, save_xlm_roberta


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT encoder."""
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def xlm_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an XLM-R encoder."""
    return save_xlm_roberta(tmp_path_factory.mktemp("xlm_roberta"))
