"""The commands at the end of a report."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from runner.results import read_sweep, write_sweep
from tests.analysis import tiny_sweep
from tests.analysis.report.pages import report_on
from tests.analysis.tiny_sweep import CELLS


def test_reproduce_section_exports_the_cell_to_take(tmp_path: Path) -> None:
    report = report_on(tiny_sweep.write(tmp_path))
    lines = [command.line for command in report.reproduce.commands]
    assert any(line.startswith("python -m runner.export") and f" {report.answer.take} " in line for line in lines)


@pytest.mark.parametrize(
    ("llm", "purpose"), [("none", "searches your documents"), ("extractive", "answers your questions")]
)
def test_export_of_a_cell_without_a_model_only_searches(tmp_path: Path, llm: str, purpose: str) -> None:
    cells = [replace(cell, axes={**cell.axes, "llm": llm}) for cell in CELLS]
    commands = report_on(tiny_sweep.write(tmp_path, cells)).reproduce.commands
    (printed,) = [command.purpose for command in commands if "runner.export" in command.line]
    assert printed.endswith(f"as a folder that {purpose}")


def test_reproduce_section_does_not_export_an_oracle(tmp_path: Path) -> None:
    cells = [replace(cell, axes={**cell.axes, "retriever": "oracle"}) for cell in CELLS]
    report = report_on(tiny_sweep.write(tmp_path, cells))
    assert report.answer.take
    assert not any("runner.export" in command.line for command in report.reproduce.commands)


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ([], []),
        (["--config-dir", "my conf"], ["--config-dir", "my conf"]),
        (["-cd=my_conf", "llm.base_url="], ["--config-dir", "my_conf"]),
        (["--config-name=mine", "--config-path", "conf"], ["--config-name", "mine", "--config-path", "conf"]),
        (["hydra.searchpath=[file://my_conf]"], ["hydra.searchpath=[file://my_conf]"]),
    ],
    ids=lambda words: " ".join(words),
)
def test_command_of_the_cell_to_take_finds_options_as_the_sweep_does(
    given: list[str], printed: list[str], tmp_path: Path
) -> None:
    overrides = ("chunk=mine", "top_k=2")
    folder = tiny_sweep.write(tmp_path, [replace(cell, facts={"overrides": overrides}) for cell in CELLS])
    command = shlex.join(["python", "-m", "runner", "-m", *given, "chunk=mine", "top_k=2,8"])
    write_sweep(folder, replace(read_sweep(folder), command=command))
    commands = report_on(folder).reproduce.commands
    (line,) = (each.line for each in commands if each.purpose.startswith("only "))
    assert shlex.split(line) == ["python", "-m", "runner", *printed, *overrides]


@pytest.mark.parametrize("command", ["python -m runner 'chunk", "python -m runner --config-dir"])
def test_reproduce_section_skips_a_command_with_broken_quotes(command: str, tmp_path: Path) -> None:
    folder = tiny_sweep.write(tmp_path, [replace(cell, facts={"overrides": ("top_k=2",)}) for cell in CELLS])
    write_sweep(folder, replace(read_sweep(folder), command=command))
    commands = report_on(folder).reproduce.commands
    assert [each.line for each in commands if each.purpose.startswith("only ")] == ["python -m runner top_k=2"]


def test_reproduce_section_names_differing_commits_of_stored_results(tmp_path: Path) -> None:
    own = {"git_commit": "abc", "versions": {"python": "3.11.7", "commit": "abc"}}
    cells = [replace(cell, facts=own) for cell in CELLS]
    facts = dict((reproduce := report_on(tiny_sweep.write(tmp_path / "same", cells)).reproduce).facts)
    assert (facts["code"], "code of stored results" in facts, "commit" in reproduce.versions) == ("abc", False, False)
    cells[0] = replace(cells[0], facts={**own, "versions": {"python": "3.11.7", "commit": "def"}})
    facts = dict(report_on(tiny_sweep.write(tmp_path / "other", cells)).reproduce.facts)
    assert (facts["code"], facts["code of stored results"]) == ("abc", "def and abc")
