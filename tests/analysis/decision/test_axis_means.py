"""Means of levels, over the same combinations of the other axes, with the intervals that cells have."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.decision.axis_means import axis_means
from components.errors import DataError
from runner.results.loaded_sweep import LoadedSweep, load
from tests.analysis.decision import planted


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> LoadedSweep:
    axes = {"size": [1, 2, 4], "retriever": ["bm25", "dense"], "k": [1, 2]}
    effects = {"size": {2: 0.1, 4: 0.15}, "retriever": {"dense": 0.05}}
    return load(planted.write(tmp_path_factory.mktemp("means") / "grid", axes, effects))


def test_axis_mean_averages_the_cells_of_a_level(grid: LoadedSweep) -> None:
    found = axis_means(grid, "rouge_l", "size")
    assert [row.level for row in found.means] == [1.0, 2.0, 4.0]
    for row in found.means:
        cells = [cell.value("rouge_l") for cell in grid.cells if cell.axes["size"] == row.level]
        assert row.mean == pytest.approx(np.mean([value for value in cells if value is not None]))
        assert row.low is not None
        assert row.high is not None
        assert row.low < row.mean < row.high
    assert (found.n, found.n_combinations, found.other_axes) == (planted.N, 4, ("retriever", "k"))


def test_axis_interval_is_students_t_of_sample_means(grid: LoadedSweep) -> None:
    """Every sample is a separate group here."""
    from scipy.stats import t, tstd

    from runner.results.joined_samples import common_samples

    cells = [cell for cell in grid.cells if cell.axes["size"] == 2]
    values = common_samples(cells, grid.folder_of, "rouge_l", "overall").statistics[:, :, 0].mean(axis=1)
    row = axis_means(grid, "rouge_l", "size").means[1]
    half = t.ppf(0.975, planted.N - 1) * tstd(values) / np.sqrt(planted.N)
    assert row.high == pytest.approx(values.mean() + half, rel=1e-6)


def test_axis_means_are_given_for_each_level_of_a_second_axis(grid: LoadedSweep) -> None:
    found = axis_means(grid, "rouge_l", "size", "retriever")
    assert {(row.level, row.by) for row in found.means} == {(s, r) for s in (1.0, 2.0, 4.0) for r in ("bm25", "dense")}
    assert (found.n_combinations, found.other_axes, found.apart) == (2, ("k",), ())


def test_axis_means_leave_out_combinations_that_lack_a_cell(grid: LoadedSweep) -> None:
    lost = grid.cell("size=4,retriever=dense,k=2")
    partial = replace(grid, cells=tuple(cell for cell in grid.cells if cell is not lost))
    found = axis_means(partial, "rouge_l", "size")
    assert found.n_combinations == 3
    complete = [
        cell
        for cell in grid.cells
        if cell.axes["size"] == 1 and (cell.axes["retriever"], cell.axes["k"]) != ("dense", 2)
    ]
    assert found.means[0].mean == pytest.approx(np.mean([cell.value("rouge_l") or 0.0 for cell in complete]))


def test_single_cell_keeps_its_own_mean_and_interval(grid: LoadedSweep) -> None:
    cells = [cell for cell in grid.cells if (cell.axes["retriever"], cell.axes["k"]) == ("bm25", 1)]
    for cell in cells:
        cell.metrics["overall"]["rouge_l"].update(ci_low=0.123, ci_high=0.987)  # type: ignore[union-attr]
    found = axis_means(replace(grid, cells=tuple(cells)), "rouge_l", "size")
    assert [(row.mean, row.low, row.high) for row in found.means] == [
        (cell.value("rouge_l"), 0.123, 0.987) for cell in cells
    ]


def test_axis_mean_has_no_interval_with_few_groups(tmp_path: Path) -> None:
    axes = {"size": [1, 2], "k": [1, 2]}
    few = load(planted.write(tmp_path / "few", axes, {}, n=4))
    assert [(row.low, row.high) for row in axis_means(few, "rouge_l", "size").means] == [(None, None)] * 2
    good = load(planted.write(tmp_path / "good", axes, {"size": {1: 0.6, 2: 0.6}}, n=8))
    rows = axis_means(good, "rouge_l", "size").means
    assert all(row.low is not None and row.high == 1.0 and row.low < row.mean < 1.0 for row in rows)


def test_axis_means_accept_a_metric_without_a_direction(grid: LoadedSweep) -> None:
    cells = tuple(replace(cell, larger_is_better={}) for cell in grid.cells)
    assert len(axis_means(replace(grid, cells=cells), "rouge_l", "k").means) == 2


@pytest.mark.parametrize(
    ("axis", "by", "message"),
    [
        ("sise", "", "--axis: got 'sise', expected one of"),
        ("size", "size", "--by: got 'size', expected one of"),
    ],
)
def test_constant_axis_is_rejected(grid: LoadedSweep, axis: str, by: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        axis_means(grid, "rouge_l", axis, by)


def test_levels_without_comparable_cells_are_rejected(grid: LoadedSweep) -> None:
    """Each level has only combinations of the other axes that no other level has."""
    ones, twos = (("bm25", 1), ("dense", 2)), (("bm25", 2), ("dense", 1))
    names = [f"size={size},retriever={r},k={k}" for size, pairs in ((1, ones), (2, twos)) for r, k in pairs]
    with pytest.raises(DataError, match="no two levels of size have cells that are otherwise equal"):
        axis_means(replace(grid, cells=tuple(map(grid.cell, names))), "rouge_l", "size")
