"""Sweeps over conditions of a test: neither the report nor the commands take the easiest test for the best cell."""

from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.decision import topic_task_matrix
from runner.results.cell_choice import COMPARE_ALIKE
from runner.results.loaded_sweep import load
from tests.analysis.decision.planted import write
from tests.analysis.report.pages import rendered, report_on

RATE = "retriever.noise_rate"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Noise costs .2, and a larger k gains .2 at every rate."""
    return write(
        tmp_path_factory.mktemp("rates") / "sweep",
        {RATE: [0, 0.8], "k": [2, 8]},
        {RATE: {0.8: -0.2}, "k": {8: 0.2}},
    )


def test_scenarios_exclude_cells_that_differ_in_request_rate(swept: Path) -> None:
    report = report_on(swept)
    assert report.scenarios is not None
    rows = [row for group in report.scenarios.groups for row in group.rows_with_enough_samples]
    assert {(tuple(row.choices), row.best, row.best_note) for row in rows} == {
        (("k",), "", f"none: cells differ in {RATE}")
    }
    assert all(row.choices["k"].head == "8" for row in rows)


def test_report_of_several_request_rates_recommends_no_cell(swept: Path) -> None:
    page, text, _ = rendered(report_on(swept))
    assert COMPARE_ALIKE in page.text
    for words in ("the cell to take", "May be the best"):
        assert words not in page.text
        assert words not in text


def test_matrix_of_several_request_rates_names_no_best_cell(swept: Path) -> None:
    sweep = load(swept)
    found = topic_task_matrix(sweep, "rouge_l", sweep.cells[0])
    assert found is not None
    assert (found.n_tested, {field.best for field in found.fields}) == (0, {()})


@pytest.mark.parametrize("command", [["candidates"], ["compare", "--metric", "rouge_l"]])
def test_best_and_compare_advise_to_compare_at_one_rate(
    swept: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = command
    assert main([name, str(swept), *options]) == 0
    shown = capsys.readouterr().out
    assert COMPARE_ALIKE in shown
    assert "confidence the best cell is" not in shown
