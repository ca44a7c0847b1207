"""The help of every command. A file in `runner/` is a command; the usage of a command names its subcommands."""

import argparse
import contextlib
import importlib
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.__main__ import COMMANDS
from runner.launch.command_help import SHOWN_FIRST, asks_for_help, command_help, list_groups, list_options
from runner.serving.pipeline_command import main as pipeline
from tests.runner.sweeping import REPOSITORY

MAX_LINES, MAX_COLUMNS = 50, 80
MAX_LINES_BESIDES_GROUPS = 18
SWEEP, CELL = "its folder, its id in results/, or latest", "best, or best:METRIC"
NOUNS = {
    "AXIS",
    "CELL",
    "CLASS",
    "GATE",
    "KIND",
    "METRIC",
    "METRICS",
    "MODEL",
    "N",
    "REASON",
    "SWEEP",
    "TASK",
    "TOPIC",
    "URI",
}
"""Options whose own name says what their value is. For all others, such as `--out FILE`, the help names it."""
FILES = sorted(f"runner.{file.stem}" for file in (REPOSITORY / "runner").glob("*.py") if file.stem[0] != "_")
MODULES = [*FILES, "analysis", "pipeline.py"]
HEAVY = ("torch", "transformers", "pandas", "mlflow", "scipy", "sklearn", "faiss", "matplotlib")


class ParsedError(Exception):
    """The parser accepted the arguments."""


def run(module: str, arguments: Sequence[str]) -> None:
    if module == "pipeline.py":
        pipeline(Path("nowhere"), list(arguments))
    else:
        importlib.import_module("analysis.__main__" if module == "analysis" else module).main(list(arguments))


def shown(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The help of a command and subcommand, at 80 columns, with each paragraph of an option on its lines."""
    with contextlib.suppress(SystemExit):
        run(words[0], [*words[1:], "--help"])
    return capsys.readouterr().out


def unwrapped(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def subcommands(module: str, help_text: str) -> list[str]:
    """The subcommands in the usage, as in "[-h] {ls,verify,prune} ..."."""
    if module == "analysis":
        return list(COMMANDS)
    if module == "runner.generate":  # reads overrides of Hydra, so that its parser has no subcommands
        return ["check"]
    found = re.search(r"\{([\w,-]+)\} \.\.\.$", unwrapped(help_text.partition("\n\n")[0]))
    return found[1].split(",") if found else []


@pytest.fixture(autouse=True)
def _at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(MAX_COLUMNS))


def require_complete(text: str, command: str, name: str) -> str:
    """Check length, width, names of sweeps and cells, and the page. Return the example."""
    assert len(text.splitlines()) <= MAX_LINES, f"{name}: {len(text.splitlines())} lines"
    assert [line for line in text.splitlines() if len(line) > MAX_COLUMNS] == [], name
    ending = re.search(r"\nexample:\n  (.+)\n\nMore: (docs/[\w-]+\.md)\n$", text, re.DOTALL)
    assert ending, f"{name}: no example or page"
    page = (REPOSITORY / ending[2]).read_text(encoding="utf-8")
    assert command in page, f"{ending[2]} does not mention {command}"
    defaults = re.findall(r"--([a-z-]+) ([A-Z_]+)\b", unwrapped(text.partition("\n\n")[0]))
    assert [word for option, word in defaults if word == option.replace("-", "_").upper() and word not in NOUNS] == []
    flat = unwrapped(text)
    if re.search(r"\bsweep\b", unwrapped(text.partition("\n\n")[0]), re.IGNORECASE):
        assert SWEEP in flat, f"{name}: does not say that a sweep may be named latest"
    if re.search(r"[ \[](cell|CELL)\b", unwrapped(text.partition("\n\n")[0])):
        assert CELL in flat, f"{name}: does not say that a cell may be named best"
    return ending[1].replace("\\\n", " ")


def require_parsed(module: str, words: Sequence[str], example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the example is a command line of this command that its parser accepts."""
    start = ["python", "pipeline.py"] if module == "pipeline.py" else ["python", "-m", module]
    arguments = shlex.split(example)
    assert arguments[: len(start)] == start
    if words[1:]:
        assert words[1] in arguments
    if module == "runner.generate":
        return
    for method in ("parse_args", "parse_intermixed_args"):
        original = getattr(argparse.ArgumentParser, method)

        def parse(self: argparse.ArgumentParser, args: Sequence[str], original: object = original) -> None:
            assert callable(original)
            original(self, args)
            raise ParsedError

        monkeypatch.setattr(argparse.ArgumentParser, method, parse)
    with pytest.raises(ParsedError):
        run(module, arguments[len(start) :])
    monkeypatch.undo()
    monkeypatch.setenv("COLUMNS", str(MAX_COLUMNS))


@pytest.mark.parametrize("module", MODULES)
def test_help_of_every_command_is_short_with_example_and_page(
    module: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown([module], capsys)
    for words in ([module], *([module, name] for name in subcommands(module, text))):
        command = " ".join([module, *words[1:]] if module == "analysis" else [module])
        example = require_complete(text if len(words) == 1 else shown(words, capsys), command, " ".join(words))
        require_parsed(module, words, example, monkeypatch)


def test_help_of_every_command_loads_no_heavy_package() -> None:
    code = (
        "import sys\nfrom importlib import import_module\n"
        f"for module in {[*FILES, 'analysis.__main__']}:\n"
        "    try: import_module(module).main(['--help'])\n"
        "    except SystemExit: pass\n"
        "from runner.launch.command_help import command_help\n"
        "command_help()\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert set(FILES) <= loaded
    assert not loaded & {*HEAVY, "hydra"}


@pytest.mark.parametrize("module", FILES)
def test_main_of_every_command_can_be_called_without_arguments(module: str) -> None:
    """`run_main` calls it so. It then reads the command line itself."""
    inspect.signature(importlib.import_module(module).main).bind()


def test_runner_help_is_a_line_per_group_and_little_more() -> None:
    text = command_help()
    assert len(text.splitlines()) <= MAX_LINES_BESIDES_GROUPS + len(list_groups())
    assert [line for line in text.splitlines() if len(line) > MAX_COLUMNS] == []
    assert all(word in text for word in ("--cfg job", "--hydra-help", "latest", "best", "run.plan_only=true"))
    for page in re.findall(r"docs/[\w-]+\.md", text):
        assert "python -m runner" in (REPOSITORY / page).read_text(encoding="utf-8")


def test_runner_help_has_every_group_with_its_default_first() -> None:
    folders = {folder.name for folder in (REPOSITORY / "conf").iterdir() if list(folder.glob("*.yaml"))}
    groups = list_groups()
    assert sorted(group.name for group in groups) == sorted({*folders, "sweeps"})
    assert all(len(group.purpose.split()) >= 2 and group.purpose == group.purpose.strip() for group in groups)
    text = command_help()
    assert re.search(r"^  chunk +\S.* sentence, token, .*\(7\)$", text, re.MULTILINE)
    assert re.search(r"^  filter +\S.* none, metadata$", text, re.MULTILINE)
    assert re.search(r"^  retriever +\S.* hybrid, bm25, dense, ", text, re.MULTILINE)
    for group, options in SHOWN_FIRST.items():
        assert set(options) <= set(list_options(group)), group


def test_runner_help_counts_options_that_do_not_fit() -> None:
    for group in list_groups():
        (line,) = (line for line in command_help().splitlines() if line.startswith(f"  {group.name} "))
        options = list_options(group.name)
        assert all(option in line for option in options) or line.endswith(f"({len(options)})"), line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--help"], True), (["-h"], True), (["-m", "top_k=2,4", "--help"], True), (["-mh"], True),
        (["--hydra-help"], False), (["llm=none"], False), (["--cfg", "job"], False),
    ],
)  # fmt: skip
def test_runner_help_is_requested_by_several_flags(arguments: list[str], expected: bool) -> None:
    assert asks_for_help(arguments) is expected


def test_runner_command_prints_the_rag_grid_help() -> None:
    command = [sys.executable, "-m", "runner", "retriever=bm25", "--help"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == command_help()
