"""Facts about where a sweep runs."""

import subprocess

import pytest

from runner.engine import environment
from tests.runner.sweeping import REPOSITORY


def test_the_commit_is_that_of_the_checkout() -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no checkout")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert environment.git_commit().removesuffix("+changes") == head.stdout.strip()
    assert environment.versions()["commit"] == environment.git_commit()


def test_versions_are_those_that_are_installed() -> None:
    import numpy as np

    assert environment.versions()["numpy"] == np.__version__


def test_a_checkout_without_an_installed_version_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise environment.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(environment.metadata, "version", missing)
    assert environment.program_version().startswith("unknown (a checkout that is not installed")
