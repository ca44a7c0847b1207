"""Errors, logs and tracebacks of every command hide the secrets of the environment."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from runner.serving import pipeline_command
from tests.runner.console.test_interruptible import COMMANDS
from tests.runner.sweeping import REPOSITORY

SECRET = "p4Vq9-Zt7Lw2Kx8Rb"
WITHOUT_PARSER = {"analysis", "benchmarks", "benchmarks.peers", "runner", "runner.generate"}
PARSERS = ["analysis.__main__", "benchmarks.peers.__main__", *sorted({*COMMANDS} - WITHOUT_PARSER)]

RAISING = """
import logging, sys, types
from runner.console.interruptible import run_main

def main():
    logging.getLogger("other").error("got %s", sys.argv[1])
    raise ValueError(sys.argv[1])

sys.modules["command"] = types.SimpleNamespace(main=main)
run_main("command")
"""


@pytest.mark.parametrize("module", PARSERS)
def test_argument_errors_hide_secrets(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    monkeypatch.setattr(sys, "argv", [module])
    for arguments in ([SECRET], [SECRET] * 9, [f"--{SECRET}"]):
        with pytest.raises(SystemExit, match="2"):
            sys.exit(importlib.import_module(module).main(arguments))
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert said.err


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("runner.export", ["sweep", "best", "--out", "{}"]),
        ("runner.export_rankings", ["sweep", "--format=trec", "--tag=run-{}", "--out", "run.txt"]),
        ("runner.judge_training", ["prepare", "--labels", "a.csv", "--judge", "omnieval_en", "--out", "{}"]),
    ],
)
def test_secret_in_an_argument_is_an_error(
    module: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    with pytest.raises(SystemExit, match="2"):
        importlib.import_module(module).main([each.format(SECRET) for each in arguments])
    said = capsys.readouterr()
    assert "an argument contains the value of the environment variable MY_API_KEY" in said.err
    assert SECRET not in said.out + said.err


def test_question_about_secrets_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    for question in ("What is sk-abcdefgh12345678?", "Is http://me:password1@host an address?", "token=abc1 means?"):
        assert pipeline_command._parser().parse_args([question]).question == question


@pytest.mark.parametrize("option", ["--history", "--where"])
def test_unreadable_json_argument_is_one_error(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000)
    for given, why in (
        ("[" * 50_000, "nested too deeply"),
        (str(file), "nested too deeply"),
        (r'["\udc00"]', "half of a character"),
        ('{"a": 1, "a": 2}', "more than once"),
        ("{", "Expecting"),
    ):
        with pytest.raises(SystemExit, match="2"):
            pipeline_command._parser().parse_args(["question", option, given])
        said = capsys.readouterr().err
        assert "is neither JSON nor a file with JSON" in said
        assert why in said
        assert len(said) < 2000


def test_logs_and_tracebacks_of_every_command_hide_secrets() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RAISING, SECRET],
        cwd=REPOSITORY,
        env={"MY_API_KEY": SECRET, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert SECRET not in done.stdout + done.stderr
    assert done.stderr.startswith("got ***\n")
    assert done.stderr.endswith("ValueError: ***\n")


@pytest.mark.parametrize(
    "uri",
    [
        "http://me:{}@127.0.0.1:5000",
        "https://{}@host",
        "mlflow://http://me:{}@host",
        "postgresql://me:{}@host/db",
        "mysql://host/db?password={}",
    ],
)
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("runner.track", ["sweep", "--uri", "{}"]),
        ("runner.track", ["sweep", "--uri={}"]),
        ("runner.datasets", ["import", "{}", "--from", "mlflow", "--out", "questions"]),
    ],
)
def test_tracking_uri_with_a_password_is_an_error(
    uri: str, module: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [each.format(uri.format(SECRET)) for each in arguments]
    with pytest.raises(SystemExit, match="2"):
        importlib.import_module(module).main(given)
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert "contains a user name or password" in said.err
    assert "Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead" in said.err
