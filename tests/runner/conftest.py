"""Sweeps of several tests, run once for all workers of pytest-xdist; and a bucket for the tests of one worker."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.buckets import Bucket, served_bucket
from tests.conftest import MakeOnce
from tests.extras import skip_without
from tests.runner.sweeping import QUIET, RANKING_ONLY, REPOSITORY, SCRIPTED, SMALL, environment, run_command


@pytest.fixture(scope="session")
def single_run(make_once: MakeOnce) -> Path:
    """`python -m runner` with every metric, not tracked; started as a user starts it, with nothing loaded before."""

    def fill(folder: Path) -> None:
        command = [sys.executable, "-m", "runner", *SMALL, "tracking=none"]
        started = {**environment(), "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(command, cwd=folder, env=started, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        (folder / "output.txt").write_text(done.stdout, encoding="utf-8")

    return make_once("single-run", fill)


@pytest.fixture(scope="session")
def grid_run(make_once: MakeOnce) -> Path:
    """`python -m runner -m` over six cells. Two cells are the same experiment as others."""

    def fill(folder: Path) -> None:
        done = run_command(folder, "-m", *SMALL, *RANKING_ONLY, *QUIET, "retriever=closed_book,bm25,dense", "top_k=2,4")
        assert done.returncode == 0, done.stderr
        (folder / "output.txt").write_text(done.stdout, encoding="utf-8")

    return make_once("grid-run", fill)


@pytest.fixture(scope="session")
def tracked_run(make_once: MakeOnce) -> Path:
    """Three cells, logged to mlflow.db next to the results."""

    def fill(folder: Path) -> None:
        done = run_command(folder, "-m", *SMALL, *RANKING_ONLY, "retriever=closed_book,bm25", "top_k=2,4")
        assert done.returncode == 0, done.stderr
        (folder / "output.txt").write_text(done.stdout, encoding="utf-8")

    return make_once("tracked-run", fill)


@pytest.fixture(scope="session")
def uninterrupted_run(make_once: MakeOnce) -> Path:
    """`SCRIPTED`, run without an interruption."""

    def fill(folder: Path) -> None:
        done = run_command(folder, "-m", *SCRIPTED)
        assert done.returncode == 0, done.stderr

    return make_once("uninterrupted-run", fill)


@pytest.fixture(scope="session")
def served() -> Iterator[Bucket]:
    skip_without("obstore", "moto", extra="s3")
    with served_bucket() as bucket:
        yield bucket


@pytest.fixture
def bucket(served: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """The environment of this process names the bucket, and each test has its own prefix there."""
    for name, value in served.environment.items():
        monkeypatch.setenv(name, value)
    gc.collect()  # the stores of the test before this one take their leave
    served.put_in_order()
    return served
