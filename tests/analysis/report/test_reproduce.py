"""The commands that a report ends with."""

from dataclasses import replace
from pathlib import Path

from tests.analysis import tiny_sweep
from tests.analysis.report.pages import report_on
from tests.analysis.tiny_sweep import CELLS


def test_reproduce_section_exports_the_cell_to_take(tmp_path: Path) -> None:
    report = report_on(tiny_sweep.write(tmp_path))
    lines = [command.line for command in report.reproduce.commands]
    assert any(line.startswith("python -m runner.export") and f" {report.answer.take} " in line for line in lines)


def test_reproduce_section_does_not_export_an_oracle(tmp_path: Path) -> None:
    cells = [replace(cell, axes={**cell.axes, "retriever": "oracle"}) for cell in CELLS]
    report = report_on(tiny_sweep.write(tmp_path, cells))
    assert report.answer.take
    assert not any("runner.export" in command.line for command in report.reproduce.commands)
