"""Our commands in a working directory with folders and packages that have the same names as ours."""

import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from runner.console import own_packages
from runner.results.loaded_sweep import load
from tests.runner.sweeping import QUIET, RANKING_ONLY, REPOSITORY, SMALL, only_sweep

CELL = (*SMALL, *QUIET, *RANKING_ONLY)
RERANKER = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(frozen=True)
class Backwards:
    depth: int = 5
    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None

    def score(self, queries, chunks, pairs):
        return -np.arange(len(pairs), dtype=np.float32)[::-1].copy()
"""
EDITABLE = """
import sys
from importlib.machinery import PathFinder

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("analysis", "components", "conf", "runner", "sweeps"):
            return PathFinder.find_spec(name, [{root!r}])

sys.meta_path.insert(sys.meta_path.index(PathFinder) + 1, Finder)
"""
"""A finder behind `sys.path`, as setuptools installs it for editable packages."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's working directory that uses these names for other things."""
    work = tmp_path / "work"
    for name in ("conf", "components", "sweeps"):
        (work / name).mkdir(parents=True)
    (work / "analysis").mkdir()
    (work / "analysis" / "__init__.py").write_text("print('the analysis of the user')\n")
    (work / "my_package.py").write_text(RERANKER)
    return work


def run_in(folder: Path, *command: str, path: Path = REPOSITORY) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(path), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def make_packages(folder: Path, *names: str) -> None:
    """Create packages that end the process that imports them."""
    for name in names:
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "__init__.py").write_text(f"raise SystemExit('{name} of the user')\n")


def test_grid_runs_next_to_user_packages_of_the_same_names(folder: Path) -> None:
    make_packages(folder, "components", "conf", "sweeps")
    mine = ("reranker._target_=my_package.Backwards", "run.plugins=[my_package]", "run.workers=2")
    done = run_in(folder, "-m", "runner", "-m", "+sweeps=smoke", *CELL, "dataset.limit=12", *mine)
    assert done.returncode == 0, done.stderr
    assert "user" not in done.stdout + done.stderr
    cells = load(only_sweep(folder)).cells
    assert {cell.config["reranker"]["_target_"] for cell in cells} == {"my_package.Backwards"}


@pytest.mark.parametrize(
    "command",
    [
        ["runner", *CELL, "run.plan_only=true"],
        ["runner.datasets", "describe", "dataset.limit=12"],
        ["runner.store", "--help"],
        ["runner.score", "--help"],
        ["runner.track", "--help"],
        ["runner.judge_agreement", "--help"],
    ],
    ids=lambda command: command[0],
)
def test_commands_ignore_user_packages_with_an_editable_install(
    command: list[str], folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(EDITABLE.format(root=str(REPOSITORY)))
    make_packages(folder, "components", "conf", "sweeps")
    done = run_in(folder, "-m", *command, path=tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert "user" not in done.stdout + done.stderr


def test_analysis_ignores_user_packages_named_runner(folder: Path) -> None:
    (folder / "analysis" / "__init__.py").unlink()
    make_packages(folder, "runner", "components")
    done = run_in(folder, "-m", "analysis", "compare", "nowhere", "--metric", "f1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nowhere: no sweep here")


def test_console_script_ignores_user_packages_named_runner(folder: Path, tmp_path: Path) -> None:
    make_packages(folder, "runner", "components")
    script = tmp_path / "rag-grid"
    script.write_text("from runner.__main__ import run\nif __name__ == '__main__':\n    run()\n")
    mine = ("reranker._target_=my_package.Backwards", "run.plugins=[my_package]", "run.workers=2")
    done = run_in(folder, str(script), *CELL, *mine)
    assert done.returncode == 0, done.stderr
    assert load(only_sweep(folder)).cells[0].status == "OK"


def test_error_names_a_user_package_imported_before_the_runner(folder: Path) -> None:
    (folder / "conf" / "__init__.py").touch()
    done = run_in(folder, "-c", f"import conf, sys; sys.path.insert(0, {str(REPOSITORY)!r}); import runner")
    assert "ImportError: conf is loaded from" in done.stderr
    assert "Import runner first, or rename your package." in done.stderr


def test_package_finder_ignores_foreign_names() -> None:
    finder = own_packages.OwnPackages()
    assert finder.find_spec("analysis", None) is None
    assert finder.find_spec("my_package", None) is None
    found, wanted = finder.find_spec("conf", None), PathFinder.find_spec("conf", [str(REPOSITORY)])
    assert found is not None
    assert wanted is not None
    assert found.origin == wanted.origin
