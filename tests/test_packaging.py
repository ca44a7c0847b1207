"""What is installed from a wheel, and from the repository itself with `pip install -e`. Built without the network."""

import configparser
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.sweeping import QUIET, RANKING_ONLY, REPOSITORY, SMALL

pytest.importorskip("setuptools", minversion="77", reason="wheels are built with the setuptools that is installed")

BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
PACKAGES = ("analysis", "components", "conf", "runner", "sweeps")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: a build leaves folders beside its source."""
    folder = tmp_path_factory.mktemp("source")
    for name in PACKAGES:
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, folder)
    return folder


def build(how: str, source: Path, folder: Path) -> zipfile.ZipFile:
    command = [sys.executable, "-c", BUILD, how, str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(folder / done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    with build("build_wheel", source, tmp_path_factory.mktemp("wheel")) as wheel:
        yield wheel


def test_a_wheel_runs_a_preset_beside_folders_of_the_user(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    for name in PACKAGES:
        (tmp_path / "work" / name).mkdir(parents=True)
    overrides = (*SMALL, *QUIET, *RANKING_ONLY, "run.plan_only=true")
    done = subprocess.run(
        [sys.executable, "-m", "runner", "-m", "+sweeps=retrievers", *overrides[:1], *overrides[2:]],
        cwd=tmp_path / "work",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Plan: 13 cells" in done.stdout


def test_a_wheel_has_every_file_and_the_commands(source: Path, wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    kept = {
        path.relative_to(source).as_posix()
        for name in PACKAGES
        for path in (source / name).rglob("*")
        if path.suffix in (".py", ".yaml", ".jsonl", ".csv", ".typed", ".j2", ".css", ".js")
    }
    assert kept - names == set()
    (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
    parser = configparser.ConfigParser()
    parser.read_string(wheel.read(entry_points).decode())
    assert dict(parser["console_scripts"]) == {
        "rag-grid": "runner.__main__:run",
        "rag-grid-analysis": "analysis.installed_command:run",
    }


def test_an_editable_install_is_a_line_in_a_pth_file(source: Path, tmp_path: Path) -> None:
    """A finder, which setuptools makes by default, would be asked behind empty folders in the working directory."""
    wheel = build("build_editable", source, tmp_path)
    (path,) = (wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".pth"))
    assert Path(path.strip()).resolve() == source.resolve()
    assert not [name for name in wheel.namelist() if name.endswith(".py")]
