import pytest

from components.errors import ConfigError
from runner.console.private_shortcuts import HYDRA, MLFLOW, may_use_private_parts


def test_plain_libraries_variable_disables_private_shortcuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_GRID_PLAIN", "mlflow, ")
    assert (may_use_private_parts(HYDRA), may_use_private_parts(MLFLOW)) == (True, False)
    monkeypatch.delenv("RAG_GRID_PLAIN")
    assert may_use_private_parts(MLFLOW)


def test_plain_libraries_variable_rejects_an_unknown_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_GRID_PLAIN", "mlfow")
    with pytest.raises(ConfigError, match="RAG_GRID_PLAIN: got mlfow, expected hydra, mlflow or both"):
        may_use_private_parts(MLFLOW)
