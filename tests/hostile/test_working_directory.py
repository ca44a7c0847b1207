"""A command that is run in a stranger's folder imports no module from it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extras import skip_without
from tests.runner.sweeping import REPOSITORY

SHADOWS = ("json", "pandas", "pathlib", "typing", "dataclasses", "argparse", "numpy", "rich", "yaml", "hydra", "mlflow")
OPTIONAL = ("nt", "_winapi", "msvcrt", "winreg", "numexpr", "bottleneck", "simplejson")
"""Modules that libraries try to import, and that are not there."""

MODULES = (*SHADOWS, *OPTIONAL)
COMMANDS = sorted(
    ["runner", "analysis"]
    + [f"runner.{file.stem}" for file in (REPOSITORY / "runner").glob("*.py") if not file.stem.startswith("__")]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given")
    mark = f"open({str(folder / 'it-ran')!r}, 'w').close()\n"
    for name in MODULES:
        (folder / f"{name}.py").write_text(mark)
    for name in ("hydra_plugins", "hydra_plugins/mine"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(mark)
    (folder / "hydra_plugins" / "other.py").write_text(mark)
    return folder


@pytest.mark.parametrize("module", COMMANDS)
def test_commands_import_no_module_of_the_working_directory(module: str, folder: Path) -> None:
    arguments = (
        ["--cfg", "job"] if module == "runner" else ["report", "nowhere"] if module == "analysis" else ["--help"]
    )
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (2 if module == "analysis" else 0), done.stderr
    assert not (folder / "it-ran").exists()


def test_working_directory_folder_does_not_hide_an_installed_namespace(tmp_path: Path) -> None:
    here, site = tmp_path / "given", tmp_path / "site"
    for name in (here / "shared", here / "own", site / "shared"):
        name.mkdir(parents=True)
    (here / "shared" / "__init__.py").write_text("print('it ran')\n")
    (here / "shared" / "mine.py").touch()
    (here / "own" / "__init__.py").touch()
    (site / "shared" / "installed.py").touch()
    text = (
        "import os, sys, importlib.util; sys.path[:] = [*sys.path[1:], os.getcwd()]\n"
        "import runner, own, shared.installed\n"
        "importlib.invalidate_caches(); print(importlib.util.find_spec('shared.mine'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=here,
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{site}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("None\n", 0), done.stderr


def test_working_directory_is_tested_with_the_main_commands() -> None:
    assert {"runner", "runner.export", "runner.store", "runner.generate", "analysis"} <= set(COMMANDS)


def test_user_modules_in_the_working_directory_are_importable(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('imported')\n")
    text = "import runner, mine"
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "imported\n")


def test_joblib_workers_import_no_plugins_of_the_working_directory(tmp_path: Path) -> None:
    skip_without("joblib", extra="joblib")
    (tmp_path / "mine.py").touch()
    (tmp_path / "hydra_plugins").mkdir()
    (tmp_path / "hydra_plugins" / "__init__.py").write_text(f"open({str(tmp_path / 'it-ran')!r}, 'w').close()\n")
    words = ("-m", "dataset=demo_en", "dataset.limit=2", "llm=none", "retriever=bm25,oracle", "run.plugins=[mine]")
    done = subprocess.run(
        [sys.executable, "-m", "runner", *words, "hydra/launcher=joblib", "tracking=none"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"hydra/launcher: its workers would import {tmp_path / 'hydra_plugins'}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "it-ran").exists()


STARTED = ("runner", "analysis", "contextlib", "functools", "joblib", "submitit", "runpy")
"""Modules of which a process that a sweep starts could take the folder's."""


@pytest.mark.parametrize(
    "overrides",
    [
        ("run.report=true",),
        ("-m", "retriever=bm25,oracle", "hydra/launcher=joblib", "tracking=none"),
        ("-m", "retriever=bm25,oracle", "executor=slurm", "executor.cluster=local", "run.workers=1", "tracking=none"),
    ],
    ids=["logging and report", "joblib", "jobs"],
)
def test_sweep_processes_import_no_module_of_the_working_directory(overrides: tuple[str, ...], tmp_path: Path) -> None:
    if "joblib" in str(overrides):
        skip_without("joblib", extra="joblib")
    if "slurm" in str(overrides):
        skip_without("submitit", extra="slurm")
    mark = f"open({str(tmp_path / 'it-ran')!r}, 'w').close()\n"
    for name in STARTED:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(mark)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "runner", "dataset=demo_en", "dataset.limit=2", "llm=none", *overrides],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "it-ran").exists()
    assert list((tmp_path / "results").glob("*/report.html")) or "run.report=true" not in overrides


@pytest.mark.parametrize(("option", "names_cause"), [("-P", True), ("-B", False)])
def test_python_option_that_hides_a_plugin_is_named_in_the_error(
    option: str, names_cause: bool, tmp_path: Path
) -> None:
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").touch()
    package = "my_package" if names_cause else "not_here"
    done = subprocess.run(
        [sys.executable, option, "-m", "runner", "dataset=demo_en", f"run.plugins=[{package}]", "run.plan_only=true"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert f"run.plugins: got '{package}', expected a package that can be imported" in done.stderr
    assert ("-P (PYTHONSAFEPATH) keeps off the path" in done.stderr) == names_cause


@pytest.mark.parametrize("command", [["-m", "runner", "run.plan_only=true"], ["-m", "analysis", "report", "."]])
def test_settings_of_numba_in_the_working_directory_are_refused(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".numba_config.yaml").write_text(f"chrome_trace: {tmp_path / 'precious'}\n")
    (tmp_path / "numba").mkdir()  # stands for the extra `fast`, whether it is installed or not
    (tmp_path / "numba" / "__init__.py").touch()
    path = os.pathsep.join([str(REPOSITORY), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"{tmp_path / '.numba_config.yaml'}: numba reads this file in the working directory" in done.stderr
    assert (tmp_path / "precious").read_text() == "mine"
