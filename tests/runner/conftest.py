"""Sweeps that several tests look at, run once for all workers of pytest-xdist."""

from pathlib import Path

import pytest

from tests.conftest import MakeOnce
from tests.runner.sweeping import QUIET, RANKING_ONLY, SCRIPTED, SMALL, run_command


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
