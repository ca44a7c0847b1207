"""Facts about where a sweep runs."""

import subprocess

import pytest

from runner.engine import environment
from tests.runner.sweeping import REPOSITORY


def test_recorded_commit_equals_the_git_head() -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no checkout")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert environment.git_commit().removesuffix("+changes") == head.stdout.strip()
    assert environment.versions()["commit"] == environment.git_commit()


def test_recorded_versions_equal_the_installed_packages() -> None:
    import numpy as np

    assert environment.versions()["numpy"] == np.__version__


def test_checkout_without_an_installation_has_an_unknown_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise environment.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(environment.metadata, "version", missing)
    assert environment.program_version().startswith("unknown (a checkout that is not installed")
