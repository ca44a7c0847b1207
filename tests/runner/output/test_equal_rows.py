"""Cells that have one row of a leaderboard: those with the same value for every sample."""

from dataclasses import replace
from pathlib import Path

from runner.output.equal_rows import equal_rows
from runner.results import read_cells
from tests.analysis import tiny_sweep
from tests.analysis.tiny_sweep import CELLS

VALUES = [0.2, 0.4, 0.6, 0.8, 0.2, 0.4, 0.6, 0.8]


def equal_in(folder: Path, *values: list[float]) -> dict[str, list[str]]:
    own = [replace(cell, rouge_l=row) for cell, row in zip(CELLS, values, strict=False)]
    cells = list(read_cells(tiny_sweep.write(folder, own)))
    found = equal_rows(cells, folder, "rouge_l")
    return {first: [cell.cell_id for cell in others] for first, others in found.items()}


def test_cells_with_the_same_values_are_equal(tmp_path: Path) -> None:
    first, second, third = (cell.cell_id for cell in CELLS[:3])
    assert equal_in(tmp_path / "all", VALUES, VALUES, VALUES) == {first: [second, third]}
    assert equal_in(tmp_path / "two", VALUES, VALUES, [0.1] * 8) == {first: [second]}


def test_cells_with_the_same_mean_of_other_values_are_not(tmp_path: Path) -> None:
    assert equal_in(tmp_path, VALUES, VALUES[::-1]) == {}


def test_no_cells_are_not_equal(tmp_path: Path) -> None:
    assert equal_rows([], tmp_path, "rouge_l") == {}
