"""An exported folder in an environment with only its own requirements: `python -m pytest -m network`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from runner.results import RESULTS_DIR
from tests.runner.sweeping import SWEEP_ID, run_command

pytestmark = [pytest.mark.network, pytest.mark.timeout(1800)]

PORT = 5917
QUESTION = "罚款是多少?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported cell, without the sweep that it is from, and the environment."""
    folder = tmp_path_factory.mktemp("export")
    sweep = f"hydra.sweep.dir={RESULTS_DIR / SWEEP_ID}"
    done = run_command(folder, "-m", "retriever=hybrid_rerank", "tracking=none", "run.progress=false", sweep)
    assert done.returncode == 0, done.stderr
    done = run_command(folder, str(RESULTS_DIR / SWEEP_ID), "best", "--out", "first", module="runner.export")
    assert done.returncode == 0, done.stderr
    (folder / "first").rename(folder / "moved")
    (folder / RESULTS_DIR).rename(folder / "elsewhere")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "environment")], check=True)
    requirements = str(folder / "moved" / "requirements.txt")
    subprocess.run([str(folder / "environment/bin/pip"), "install", "-q", "-r", requirements], check=True)
    return folder


def _environment(folder: Path) -> dict[str, str]:
    """Return the variables of a shell in which the environment is activated."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**others, "PATH": f"{folder / 'environment/bin'}{os.pathsep}{os.environ['PATH']}"}


def test_exported_pipeline_passes_its_own_check_in_a_new_environment(folder: Path) -> None:
    command = [str(folder / "environment/bin/python"), str(folder / "moved/pipeline.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(folder), check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.startswith("312 of 312 answers equal, 312 of 312 rankings equal (")


@pytest.fixture
def served(folder: Path) -> Iterator[str]:
    """The address of the model."""
    command = [
        *(str(folder / "environment/bin/mlflow"), "models", "serve", "-m", str(folder / "moved/model")),
        *("--env-manager", "local", "--port", str(PORT)),
    ]
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(
        command, cwd=folder, env=_environment(folder), stdout=log, stderr=log, start_new_session=True
    )
    try:
        yield f"http://127.0.0.1:{PORT}"
    finally:
        os.killpg(process.pid, 15)
        process.wait()
        log.close()


def test_exported_pipeline_answers_over_mlflow_serving(served: str, folder: Path) -> None:
    body = json.dumps({"input": [{"role": "user", "content": QUESTION}]}).encode()
    request = Request(f"{served}/invocations", body, {"Content-Type": "application/json"})
    for _ in range(240):
        try:
            with urlopen(request, timeout=60) as reply:
                answered = json.load(reply)
            break
        except URLError:
            time.sleep(0.5)
    else:
        pytest.fail((folder / "server.log").read_text(encoding="utf-8"))
    assert "罚款" in answered["output"][0]["content"][0]["text"]
    passages = answered["custom_outputs"]["passages"]
    assert len(passages) == 5
    assert all(passage["document_id"] and passage["text"] for passage in passages)
