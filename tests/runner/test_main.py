"""How the command ends when it is interrupted outside of the sweep."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.sweeping import REPOSITORY

PROGRAM = """
import atexit, os, signal, sys, types

def press():
    os.kill(os.getpid(), signal.SIGINT)

def run_hydra():
    {body}

sys.modules["runner.launch.command"] = types.SimpleNamespace(run_hydra=run_hydra)
from runner.__main__ import run
run()
"""


@pytest.mark.parametrize(
    "body",
    [
        "press()",
        "exec('press()', globals())",  # as dataclasses are made when modules are loaded
        "atexit.register(press)",  # once all is done, while the interpreter ends
    ],
)
def test_with_130_and_without_a_trace(body: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(body=body), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "program"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
