"""Interruptions of the command before or after the sweep."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.sweeping import FEW_METRICS, QUIET, REPOSITORY, SMALL

PROGRAM = """
import atexit, os, signal, sys, types

def press():
    os.kill(os.getpid(), signal.SIGINT)

def run_hydra():
    {body}

sys.modules["runner.launch.run_command"] = types.SimpleNamespace(run_hydra=run_hydra)
from runner.__main__ import run
run()
"""


@pytest.mark.parametrize(
    "body",
    [
        "press()",
        "exec('press()', globals())",  # dataclasses run such code when modules are loaded
        "atexit.register(press)",  # once all is done, while the interpreter ends
    ],
)
def test_interrupted_program_exits_with_130_and_no_traceback(body: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(body=body), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "program"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    said = "" if "atexit" in body else "\nInterrupted.\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


def test_sweep_without_standard_streams_succeeds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "runner", *SMALL, *FEW_METRICS, *QUIET]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert done.returncode == 0
    assert len(list((tmp_path / "results").glob("*/*/cell.json"))) == 1


def test_command_in_a_deleted_folder_explains_the_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", sys.executable, "-m", "runner"],
        cwd=gone,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "the working directory was deleted: cd to another directory\n"
