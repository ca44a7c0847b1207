"""Rows of the leaderboard for several cells: draws of one configuration, and cells with equal values."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.output.leaderboard_rows import equal_rows, join_draws
from runner.results import CellResult, read_cells
from runner.results.joined_samples import OWN_MEANS, CommonMeans
from tests.analysis import tiny_sweep
from tests.analysis.tiny_sweep import CELLS
from tests.runner.sweeping import FEW_METRICS, QUIET, SMALL, only_sweep, run_command


def entry(value: float | None, **n_excluded: int) -> dict[str, Any]:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    return {"value": value, "n": 4, "n_excluded": n_excluded, "ci_low": low, "ci_high": high}


def draw(cell_id: str, top_k: int, repeat: int, value: float | None, **n_excluded: int) -> CellResult:
    metrics = {"overall": {"f1": entry(value, **n_excluded)}, "read": {"f1": {"value": value}}}
    axes = {"top_k": top_k, "repeat": repeat, "judge_repeat": 0}
    return CellResult(cell_id, "OK", axes, (), {}, {}, metrics=metrics, larger_is_better={"f1": True})


DRAWS = [
    draw("a0", 2, 0, 0.2),
    draw("a1", 2, 1, 0.4, refused=1),
    draw("b0", 4, 0, 0.3),
    draw("a2", 2, 2, 0.6, refused=2),
    draw("b1", 4, 1, None),
]


def test_samples_of_equal_draws_count_once() -> None:
    rows, _ = join_draws([draw("a0", 2, 0, 0.2, refused=1), draw("a1", 2, 1, 0.4, refused=1)], OWN_MEANS)
    entry = rows[0].metrics["overall"]["f1"]
    assert (entry["n"], entry["n_excluded"]) == (4, {"refused": 1})


def test_leaderboard_row_of_draws_has_their_means_and_number() -> None:
    rows, _ = join_draws(DRAWS, OWN_MEANS)
    assert [row.cell_id for row in rows] == ["a0 +2", "b0 +1"]
    assert [row.axes for row in rows] == [{"top_k": 2, "draws": 3}, {"top_k": 4, "draws": 2}]
    first = rows[0].metrics["overall"]["f1"]
    assert first == {
        "value": pytest.approx(0.4), "ci_low": pytest.approx(0.3), "ci_high": pytest.approx(0.5),
        "n": 12, "n_excluded": {"refused": 3},
    }  # fmt: skip
    assert rows[0].metrics["read"] == {"f1": {"value": pytest.approx(0.4)}}
    assert rows[1].value("f1") is None, "a draw without a value leaves no mean"


def test_leaderboard_row_of_draws_keeps_their_common_metrics() -> None:
    without, valued = draw("a0", 2, 0, None), draw("a1", 2, 1, 0.4)
    more = {subset: {**entries, "mrr": entries["f1"]} for subset, entries in without.metrics.items()}
    for draws in ([replace(without, metrics=more), valued], [valued, replace(without, metrics=more)]):
        (row,), _ = join_draws(draws, OWN_MEANS)
        assert row.metrics["read"] == {"f1": {"value": None}}
        assert list(row.metrics["overall"]) == ["f1"]


def test_failed_draw_is_a_separate_row_outside_the_mean() -> None:
    failed = replace(DRAWS[1], status="FAILED", metrics={})
    rows, _ = join_draws([DRAWS[0], failed, DRAWS[3]], OWN_MEANS)
    assert [(row.cell_id, row.status) for row in rows] == [("a0 +1", "OK"), ("a1", "FAILED")]
    assert rows[0].value("f1") == pytest.approx(0.4)


def test_common_means_of_draws_are_averaged() -> None:
    common = CommonMeans(3, {"a0": 0.1, "a1": 0.2, "a2": 0.6, "b0": 0.5}, n_known=4)
    _, of_rows = join_draws(DRAWS, common)
    assert of_rows == CommonMeans(3, {"a0 +2": pytest.approx(0.3)}, n_known=4)


def test_different_settings_of_one_class_are_not_draws() -> None:
    """The axis shows only the class of these components."""
    cells = [
        replace(each, axes={**each.axes, "retriever.sparse_index": "Bm25"}, overrides=(f"index={{k1: {k1}}}", repeat))
        for each, k1, repeat in zip(DRAWS[:2] * 2, [1, 1, 2, 2], ["repeat=0", "repeat=1"] * 2, strict=True)
    ]
    rows, _ = join_draws(cells, OWN_MEANS)
    assert [(row.overrides[0], row.axes["draws"]) for row in rows] == [("index={k1: 1}", 2), ("index={k1: 2}", 2)]


def test_cells_without_repeats_keep_their_rows() -> None:
    assert join_draws([DRAWS[0], DRAWS[2]], OWN_MEANS) == ([DRAWS[0], DRAWS[2]], OWN_MEANS)


def test_leaderboard_of_repeats_shows_configurations_and_keeps_draws(tmp_path: Path) -> None:
    draws = ("llm=scripted", "top_k=2,4", "repeat=0,1")
    done = run_command(tmp_path, "-m", *SMALL, *FEW_METRICS, *QUIET, *draws)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if " +1 " in line]
    assert sorted(row[2] for row in rows[:2]) == ["2", "4"]
    assert "each row, with its interval, is the mean over its draws" in done.stdout
    with (only_sweep(tmp_path) / "leaderboard.csv").open(encoding="utf-8") as file:
        assert sorted((row["top_k"], row["repeat"]) for row in csv.DictReader(file)) == [
            ("2", "0"), ("2", "1"), ("4", "0"), ("4", "1"),
        ]  # fmt: skip


VALUES = [0.2, 0.4, 0.6, 0.8, 0.2, 0.4, 0.6, 0.8]


def equal_in(folder: Path, *values: list[float]) -> dict[str, list[str]]:
    own = [replace(cell, rouge_l=row) for cell, row in zip(CELLS, values, strict=False)]
    cells = list(read_cells(tiny_sweep.write(folder, own)))
    found = equal_rows(cells, folder, "rouge_l")
    return {first: [cell.cell_id for cell in others] for first, others in found.items()}


def test_cells_with_the_same_values_are_equal_rows(tmp_path: Path) -> None:
    first, second, third = (cell.cell_id for cell in CELLS[:3])
    assert equal_in(tmp_path / "all", VALUES, VALUES, VALUES) == {first: [second, third]}
    assert equal_in(tmp_path / "two", VALUES, VALUES, [0.1] * 8) == {first: [second]}


def test_cells_with_equal_means_but_different_values_keep_separate_rows(tmp_path: Path) -> None:
    assert equal_in(tmp_path, VALUES, VALUES[::-1]) == {}


def test_empty_cell_list_has_no_equal_rows(tmp_path: Path) -> None:
    assert equal_rows([], tmp_path, "rouge_l") == {}
