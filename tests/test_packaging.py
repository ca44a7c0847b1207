"""Installations from a wheel, and from the repository with `pip install -e`. Built without the network."""

import configparser
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.sweeping import QUIET, RANKING_ONLY, REPOSITORY, SMALL

pytest.importorskip("setuptools", minversion="77", reason="wheels are built with the setuptools that is installed")

BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
PACKAGES = ("analysis", "components", "conf", "runner", "sweeps")
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository, because a build leaves folders next to its source."""
    folder = tmp_path_factory.mktemp("source")
    for name in (*PACKAGES, "docs"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, folder)
    return folder


def files_of(source: Path) -> set[str]:
    """The files that the packages need."""
    suffixes = (".py", ".yaml", ".json", ".jsonl", ".csv", ".typed", ".j2", ".css", ".js")
    paths = (path for name in PACKAGES for path in (source / name).rglob("*"))
    return {path.relative_to(source).as_posix() for path in paths if path.suffix in suffixes}


def build_file(how: str, source: Path, folder: Path) -> Path:
    command = [sys.executable, "-c", BUILD, how, str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def build(how: str, source: Path, folder: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(build_file(how, source, folder))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    with build("build_wheel", source, tmp_path_factory.mktemp("wheel")) as wheel:
        yield wheel


def test_wheel_runs_a_preset_beside_equally_named_user_folders(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
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


def test_wheel_contains_every_file_and_both_commands(source: Path, wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert files_of(source) - names == set()
    (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
    parser = configparser.ConfigParser()
    parser.read_string(wheel.read(entry_points).decode())
    assert dict(parser["console_scripts"]) == {
        "rag-grid": "runner.__main__:run",
        "rag-grid-analysis": "analysis.installed_command:run",
    }


def test_source_distribution_contains_every_file(source: Path, tmp_path: Path) -> None:
    file = build_file("build_sdist", source, tmp_path)
    root = f"rag_grid-{VERSION}"
    assert file.name == f"{root}.tar.gz"
    with tarfile.open(file) as archive:
        names = {name.removeprefix(f"{root}/") for name in archive.getnames()}
    assert (files_of(source) | {"pyproject.toml", "README.md", "LICENSE"}) - names == set()


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel, and with the packages of this environment but not its checkout."""
    pytest.importorskip("ensurepip")
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    shared = [path for path in sys.path if path.endswith("-packages")]
    (packages / "shared.pth").write_text("\n".join(shared), encoding="utf-8")
    install = [folder / "bin/python", "-m", "pip", "install", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*install, "--ignore-installed", wheel.filename], check=True, capture_output=True)
    return folder / "bin"


def run_installed(*command: str | Path, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_installed_commands_print_the_version_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    for command in ([installed / "rag-grid"], [installed / "python", "-m", "runner"]):
        assert run_installed(*command, "--version", folder=tmp_path) == f"rag-grid {VERSION}\n"


def test_help_of_an_installed_wheel_names_the_folder_of_the_pages(installed: Path, tmp_path: Path) -> None:
    for command in (
        ["rag-grid", "--help"],
        ["rag-grid-analysis", "compare", "--help"],
        ["python", "-m", "runner.store", "--help"],
    ):
        *_, pages, folder = run_installed(installed / command[0], *command[1:], folder=tmp_path).splitlines()
        assert pages.startswith("More: docs/")
        for page in pages.removeprefix("More: ").split(", "):
            name = page.removeprefix("docs/").partition("#")[0]
            installed_page = Path(folder.removeprefix("docs/ is installed as ")) / name
            assert installed_page.read_bytes() == (REPOSITORY / "docs" / name).read_bytes()


def test_installed_wheel_runs_the_smoke_preset_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    run_installed(installed / "rag-grid", "-m", "+sweeps=smoke", "tracking=none", "run.progress=false", folder=tmp_path)
    cells = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("results/*/*/cell.json")]
    assert cells
    assert {cell["versions"]["rag-grid"] for cell in cells} == {VERSION}
    report = run_installed(installed / "python", "-m", "analysis", "report", "latest", folder=tmp_path)
    assert "report.html" in report


def test_editable_install_is_a_line_in_a_pth_file(source: Path, tmp_path: Path) -> None:
    """Empty folders in the working directory would shadow the packages of a finder, setuptools' default."""
    wheel = build("build_editable", source, tmp_path)
    (path,) = (wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".pth"))
    assert Path(path.strip()).resolve() == source.resolve()
    assert not [name for name in wheel.namelist() if name.endswith(".py")]
