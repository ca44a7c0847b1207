"""Sweeps that several tests look at, run once for all workers of pytest-xdist."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.runner.sweeping import QUIET, RANKING_ONLY, SCRIPTED, SMALL, run_command

MakeOnce = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def make_once(tmp_path_factory: pytest.TempPathFactory) -> MakeOnce:
    """`make_once(name, make)`: a folder that `make` fills in whichever worker comes first."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(name: str, fill: Callable[[Path], None]) -> Path:
        folder = shared / name
        with FileLock(shared / f"{name}.lock"):
            if not (folder / "done").exists():
                folder.mkdir(exist_ok=True)
                fill(folder)
                (folder / "done").touch()
        return folder

    return make


@pytest.fixture(scope="session")
def single_run(make_once: MakeOnce) -> Path:
    """`python -m runner` with every metric, not tracked."""

    def fill(folder: Path) -> None:
        done = run_command(folder, *SMALL, "tracking=none")
        assert done.returncode == 0, done.stderr
        (folder / "output.txt").write_text(done.stdout, encoding="utf-8")

    return make_once("single-run", fill)


@pytest.fixture(scope="session")
def grid_run(make_once: MakeOnce) -> Path:
    """`python -m runner -m` over six cells, two of which are the same experiment as others."""

    def fill(folder: Path) -> None:
        done = run_command(folder, "-m", *SMALL, *RANKING_ONLY, *QUIET, "retriever=closed_book,bm25,dense", "top_k=2,4")
        assert done.returncode == 0, done.stderr
        (folder / "output.txt").write_text(done.stdout, encoding="utf-8")

    return make_once("grid-run", fill)


@pytest.fixture(scope="session")
def tracked_run(make_once: MakeOnce) -> Path:
    """Three cells, logged to mlflow.db beside the results."""

    def fill(folder: Path) -> None:
        done = run_command(folder, "-m", *SMALL, *RANKING_ONLY, "retriever=closed_book,bm25", "top_k=2,4")
        assert done.returncode == 0, done.stderr
        (folder / "output.txt").write_text(done.stdout, encoding="utf-8")

    return make_once("tracked-run", fill)


@pytest.fixture(scope="session")
def uninterrupted_run(make_once: MakeOnce) -> Path:
    """`SCRIPTED` run in one go."""

    def fill(folder: Path) -> None:
        done = run_command(folder, "-m", *SCRIPTED)
        assert done.returncode == 0, done.stderr

    return make_once("uninterrupted-run", fill)
