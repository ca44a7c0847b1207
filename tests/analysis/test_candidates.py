"""The command on sweeps whose best cells are known."""

import csv
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.decision import candidates
from runner.results.loaded_sweep import load
from tests.analysis.decision.planted import write


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a sweep in which top_k=8 is far better on `create`, and makes no difference elsewhere."""
    return write(
        tmp_path_factory.mktemp("best") / "sweep",
        {"size": ["64", "256"], "k": [2, 8]},
        {"k": {8: 0.2}},
        only="create",
    )


def rows_of(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, str]]:
    assert main(["candidates", str(folder), "--format", "csv", *arguments]) == 0
    return {row["scenario"].strip(): row for row in csv.DictReader(capsys.readouterr().out.splitlines())}


def test_best_command_names_cells_for_each_scenario(planted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(planted, capsys)
    assert list(rows) == ["All samples", "create", "read", "topic: bonds", "topic: funds"]
    assert rows["create"]["may be the best"] == "2 of 4"
    assert rows["create"]["take"] == "256 · 8"
    assert rows["create"]["mark"] == "*"
    assert rows["read"]["may be the best"] == "all 4"
    assert rows["read"]["take"] == "64 · 2"
    assert rows["read"]["mark"] == ""


def test_best_command_accepts_a_metric_of_a_subset(planted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(rows_of(planted, capsys, "--metric", "read:rouge_l")) == ["read"]


def test_best_command_excludes_no_cell_with_few_samples(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(sweep, capsys)
    assert {row["may be the best"] for row in rows.values()} == {"too few samples"}
    assert {row["mark"] for row in rows.values() if "mark" in row} <= {""}


def test_best_command_explains_its_confidence(planted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["candidates", str(planted)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "Cells that may be the best, by rouge_l (larger is better)"
    assert any(
        "with 95% confidence for each row by itself, the best cell is among those that may be the best" in line
        for line in lines
    )
    assert (
        "scenarios with the same samples are shown once: create: task/long_form; read: read/qa_1doc, task/extractive"
        in lines
    )


def test_best_candidates_over_all_samples_equal_compare(planted: Path) -> None:
    from analysis.comparison import compare_cells
    from components.statistics import PairedTest

    sweep = load(planted)
    family = compare_cells(sweep, sweep.metric("rouge_l"), PairedTest())
    expected = [family.baseline, *(row.standing for row in family.not_distinguishable)]
    (found, *_) = candidates(sweep, "rouge_l")
    assert [one.cell_id for one in found.cells] == [one.cell.cell_id for one in expected]
    assert [one.mean for one in found.cells] == pytest.approx([one.mean for one in expected])


def test_cells_with_equal_values_share_the_name_of_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, {"size": ["64", "256"], "k": [2, 8]}, {"size": {"256": 0.2}}, same=("k",))
    assert rows_of(folder, capsys)["All samples"]["best cell"] == "256 \u00b7 2 or 8"
