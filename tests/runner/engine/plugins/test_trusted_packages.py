"""Commands that errors recommend name packages that somebody else's results chose."""

import shlex
from pathlib import Path

import pytest

import runner
from runner.engine.plugins.trusted_packages import trust_advice


def test_recommended_trust_command_quotes_package_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [str(Path(runner.__file__).with_name("export.py")), "sweep", "cell"])
    said = trust_advice(["evil; touch owned.Metric", "$(id).Metric"])
    assert "runner.export sweep cell --plugins 'evil; touch owned,$(id)', or" in said
    assert shlex.split(said.rpartition("RAG_GRID_PLUGINS=")[2]) == ["evil; touch owned,$(id)"]
