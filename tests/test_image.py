"""The Docker image. Building it needs a daemon, so its files are linted and each of its commands is checked here."""

import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def instructions() -> list[tuple[str, str]]:
    """Names and arguments of the Dockerfile, with continued lines joined."""
    lines = [
        line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    joined = "\n".join(lines).replace("\\\n", " ")
    found = [line.partition(" ")[::2] for line in joined.splitlines() if line.strip()]
    return [(name, " ".join(arguments.split())) for name, arguments in found]


def arguments_of(name: str) -> list[str]:
    return [arguments for each, arguments in instructions() if each == name]


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return found


def run_as_in_the_image(command: str, folder: Path, extras: str) -> list[str]:
    """Run a RUN line with programs that only write down their arguments. Return the calls."""
    programs, calls = folder / "programs", folder / "calls"
    programs.mkdir()
    calls.touch()
    for name in ("python", "useradd", "mkdir", "chown"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {calls}\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "EXTRAS": extras, "TORCH_INDEX": "https://torch.example"}
    subprocess.run(["sh", "-c", command], cwd=folder, env=environment, check=True)
    return calls.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("extras", "calls"),
    [
        ("", ["python -m pip install -c constraints.txt ."]),
        ("readers,s3", ["python -m pip install -c constraints.txt .[readers,s3]"]),
        (
            "s3,models",
            [
                "python -m pip install -c constraints.txt --extra-index-url https://torch.example torch",
                "python -m pip install -c constraints.txt .[s3,models]",
            ],
        ),
    ],
)
def test_image_installs_the_extras_and_torch_first(extras: str, calls: list[str], tmp_path: Path) -> None:
    made = []
    for number, command in enumerate(arguments_of("RUN")):
        folder = tmp_path / str(number)
        folder.mkdir()
        made += run_as_in_the_image(command, folder, extras)
    assert made == ["useradd --create-home --uid 1000 rag", "mkdir /data", "chown rag:rag /data", *calls]


def test_extras_with_torch_in_the_image_match_the_declared_extras() -> None:
    (line,) = (command for command in arguments_of("RUN") if "TORCH_INDEX" in command)
    assert {*re.findall(r"\*,([a-z]+),\*", line)} == {
        name for name, needed in EXTRAS.items() if re.search(r"\btorch\b|\bmodels\b", " ".join(needed))
    }


def test_image_contains_all_files_the_wheel_is_built_from() -> None:
    copied = [source for arguments in arguments_of("COPY") for source in arguments.split()[:-1]]
    assert all((ROOT / source).exists() for source in copied)
    packages = {path.removesuffix("*") for path in _setuptools()["packages"]["find"]["include"]}
    assert packages | {"docs", "pyproject.toml", "constraints.txt", PROJECT["readme"], *PROJECT["license-files"]} == {
        *copied
    }
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    }
    assert allowed == {*copied}


def _setuptools() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    return found


def test_image_runs_our_command_as_an_ordinary_user() -> None:
    assert arguments_of("USER")[-1:] == ["1000"]
    assert arguments_of("ENTRYPOINT") == ['["rag-grid"]']
    assert "rag-grid" in PROJECT["scripts"]
    (base,) = arguments_of("FROM")
    version = re.fullmatch(r"python:(\d+\.\d+)-slim-\w+", base)
    assert version
    assert f">={version[1]}" == PROJECT["requires-python"]


def test_compose_servers_are_pinned_and_listen_on_loopback() -> None:
    services = compose()["services"]
    for name, service in services.items():
        assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", ())), name
        assert "build" in service or re.search(r":v?\d+\.\d+\.\d+$", service["image"]), name
    assert services["mlflow"]["ports"] == ["127.0.0.1:5000:5000"]


def test_mlflow_serves_the_file_that_sweeps_write() -> None:
    services = compose()["services"]
    assert services["mlflow"]["volumes"] == services["rag-grid"]["volumes"] == ["./:/data"]
    assert arguments_of("WORKDIR")[-1] == "/data"
    assert services["mlflow"]["entrypoint"][-1] == "sqlite:////data/mlflow.db"


def test_dockerfile_passes_hadolint() -> None:
    hadolint = shutil.which("hadolint") or shutil.which("hadolint", path=sysconfig.get_path("scripts"))
    if hadolint is None:
        pytest.skip("the extra `dev` is not installed: no hadolint")
    done = subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_every_extra_named_on_the_image_page_exists() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)} == {*EXTRAS}
