"""The cells and samples that have traces."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from runner.output.standings import RankedCells
from runner.output.traces.traced_samples import chosen_samples, traced_cells
from runner.results import CellResult
from runner.results.cell_choice import Choice

Values = Sequence[float | None]


def cell(cell_id: str, value: float | None, status: str = "OK") -> CellResult:
    entry = {"value": value, "n_excluded": {}, "n": 1}
    return CellResult(
        cell_id, status, {}, (), {}, {}, metrics={"overall": {"f1": entry}}, larger_is_better={"f1": True, "wer": False}
    )


def ids_of(cells: Sequence[CellResult]) -> list[str]:
    return [each.cell_id for each in cells]


def standings(*cells: CellResult, tied: str = "") -> RankedCells:
    groups = tuple((each,) for each in cells if each.cell_id in f"a{tied}")
    return RankedCells(cells, ["f1"], choice=Choice(cells[0], groups, groups, cells, {}, weighs_tokens=True))


def test_traced_cells_are_the_best_the_baseline_and_two_ties() -> None:
    cells = [cell("a", 0.9), cell("b", 0.8), cell("c", 0.7), cell("d", 0.6), cell("e", 0.5)]
    assert ids_of(traced_cells(standings(*cells, tied="bcd"), "e")) == ["a", "e", "b", "c"]
    assert ids_of(traced_cells(standings(*cells), "e")) == ["a", "e"]
    assert ids_of(traced_cells(standings(*cells, tied="b"), "a")) == ["a", "b"]


def test_traced_cells_begin_with_the_cell_to_take() -> None:
    best, cheap = cell("a", 0.9), cell("b", 0.8)
    tied = ((best,), (cheap,))
    choice = Choice(cheap, tied, tied, (best, cheap), {}, weighs_tokens=True)
    assert ids_of(traced_cells(RankedCells([best, cheap], ["f1"], choice=choice), "b")) == ["b", "a"]


def test_traced_cells_put_equal_values_last() -> None:
    cells = [cell("a", 0.9), cell("b", 0.9), cell("c", 0.8), cell("d", 0.8), cell("e", 0.7)]
    assert ids_of(traced_cells(standings(*cells, tied="bcde"), "a")) == ["a", "c", "e"]
    assert ids_of(traced_cells(standings(*cells[:2], tied="b"), "a")) == ["a", "b"]


def test_failed_cells_are_not_traced() -> None:
    cells = [cell("a", 0.9), cell("b", 0.8, "FAILED")]
    assert ids_of(traced_cells(standings(*cells), "b")) == ["a"]
    assert traced_cells(RankedCells(cells, []), "a") == []


def written(folder: Path, cell_id: str, f1: Values, states: dict[int, str] | None = None, n: int = 0) -> CellResult:
    """A cell with samples s00, s01, ...; every tenth sample is in the small subset."""
    n = n or len(f1)
    ids = [f"s{place:02}" for place in range(n)]
    rows = {
        "id": ids,
        "subset": ["small" if place % 10 == 9 else "large" for place in range(n)],
        "topic": pa.array([None] * n, pa.string()),
        "task": pa.array([None] * n, pa.string()),
        "score/f1": pa.array([*f1[:n]], pa.float64()),
        "score_state/f1": [(states or {}).get(place, "value") for place in range(n)],
    }
    (folder / cell_id).mkdir()
    pq.write_table(pa.table(rows), folder / cell_id / "samples.parquet")
    return cell(cell_id, 0.5)


@pytest.mark.parametrize("n", [None, 40, 50])
def test_trace_choice_returns_all_samples_if_the_limit_is_high(tmp_path: Path, n: int | None) -> None:
    cells = [written(tmp_path, "a", [0.5] * 40)]
    assert chosen_samples(cells, tmp_path, ["f1"], n) == [f"s{place:02}" for place in range(40)]


def test_trace_choice_includes_worst_samples_and_samples_with_differences(tmp_path: Path) -> None:
    best = [0.9] * 40
    other = [0.9] * 40
    best[7], best[8], best[9] = 0.1, 0.2, 0.3
    other[7], other[8], other[9] = 0.1, 0.2, 0.3
    other[20], other[21] = 0.0, 0.5
    cells = [written(tmp_path, "a", best), written(tmp_path, "b", other)]
    chosen = chosen_samples(cells, tmp_path, ["f1"], 12)
    assert len(chosen) == 12
    assert {"s07", "s08", "s09", "s20", "s21"} <= {*chosen}
    assert chosen == sorted(chosen)


def test_failed_answer_is_traced_as_worst_and_inapplicable_is_not(tmp_path: Path) -> None:
    values: list[float | None] = [0.5 + place / 100 for place in range(40)]
    values[30], values[31] = None, None
    cells = [written(tmp_path, "a", values, {30: "answer_error", 31: "not_applicable"})]
    alone = chosen_samples(cells, tmp_path, ["f1"], 4)
    assert "s30" in alone
    assert len(alone) == 4


def test_traced_samples_represent_groups_proportionally(tmp_path: Path) -> None:
    cells = [written(tmp_path, "a", [None] * 40, dict.fromkeys(range(40), "not_applicable"))]
    chosen = chosen_samples(cells, tmp_path, ["f1"], 20)
    assert Counter("small" if an_id[2] == "9" else "large" for an_id in chosen) == {"large": 18, "small": 2}
    assert chosen_samples(cells, tmp_path, ["f1"], 20) == chosen


def test_traced_samples_exist_in_all_cells(tmp_path: Path) -> None:
    cells = [written(tmp_path, "a", [0.5] * 40), written(tmp_path, "b", [0.5] * 10)]
    assert chosen_samples(cells, tmp_path, ["f1"], None) == [f"s{place:02}" for place in range(10)]
