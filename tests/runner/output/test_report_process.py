"""The report that a finished sweep writes."""

from pathlib import Path

import pytest

from runner.launch import sweep
from runner.output.report_process import report_files, write_report
from tests.runner.sweeping import RANKING_ONLY, SWEEP_ID, run_small


def test_sweep_writes_a_report_if_requested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "results" / SWEEP_ID
    assert run_small(tmp_path, RANKING_ONLY) == 0
    said = capsys.readouterr().out
    assert f"next:     python -m analysis report {folder}" in said.replace("\n", "")
    assert report_files(folder) == []
    assert run_small(tmp_path, [*RANKING_ONLY, "run.report=true"]) == 0
    said = capsys.readouterr().out
    assert f"report:   {folder / 'report.html'}" in said
    assert "next:" not in said
    assert [path.name for path in report_files(folder)] == ["report.html", "report.md", "report.json"]


def test_failed_report_does_not_fail_the_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "write_report", lambda folder: write_report(folder / "nowhere"))
    assert run_small(tmp_path, [*RANKING_ONLY, "run.report=true"]) == 0
    said = capsys.readouterr().out
    assert "no report was written (exit code 2: " in said
    assert "no sweep here" in said
    assert "the results are complete" in said
    assert "next:     python -m analysis report" in said
