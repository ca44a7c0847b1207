"""What the leaderboard shows in a terminal that is too narrow, and of cells that failed or left samples out."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from runner.output.terminal import HEADLINES, ranked, show_leaderboard, varying
from runner.results import CellResult


def entry(value: float | None, n: int = 4, **n_excluded: int) -> dict[str, Any]:
    return {"value": value, "n": n, "n_excluded": n_excluded, "ci_low": value, "ci_high": value}


def cell(cell_id: str, value: float | None, **facts: Any) -> CellResult:
    metrics = {"overall": {name: entry(value) for name in HEADLINES}}
    axes = {"retriever": cell_id, "top_k": 5}
    return CellResult(cell_id, "OK", axes, (), {}, {}, **{"metrics": metrics, **facts})


CELLS = [cell("bm25", 0.25), cell("hybrid", 0.5)]


def shown(cells: list[CellResult], width: int = 400) -> str:
    output = io.StringIO()
    show_leaderboard(Console(file=output, width=width, highlight=False), cells)
    return output.getvalue()


def test_the_best_is_first() -> None:
    text = shown(CELLS)
    assert text.index("hybrid") < text.index("bm25")


@pytest.mark.parametrize("width", [60, 80, 110, 200])
def test_a_narrow_terminal_shows_fewer_metrics_and_cuts_none(width: int) -> None:
    lines = shown(CELLS, width).splitlines()
    assert "…" not in "".join(lines)
    assert lines[1].split()[:3] == ["cell", "retriever", HEADLINES[0]]
    assert any("a wider terminal also shows" in line for line in lines) == (width < 200)


def test_a_failed_cell_is_last_whatever_its_numbers() -> None:
    failed = replace(cell("dense", 0.9), status="FAILED", reason="3 of 4 answers failed")
    _, ordered = ranked([failed, *CELLS])
    assert [each.cell_id for each in ordered] == ["hybrid", "bm25", "dense"]
    assert "dense FAILED" in shown([failed, *CELLS])


def test_what_is_left_out_is_said_once() -> None:
    metrics = {"overall": {"rouge_l": entry(0.5), "mrr": entry(0.5, n=1, no_gold_in_corpus=3)}}
    text = shown([cell("bm25", 0.5, metrics=metrics), cell("hybrid", 0.5, metrics=metrics)])
    assert text.count("mrr: over 1 of 4 samples; left out: 3 no_gold_in_corpus") == 1


def test_unused_axes_do_not_vary() -> None:
    axes = [{"retriever": "bm25", "embedder": None}, {"retriever": "dense", "embedder": "lsa"}]
    assert varying(axes) == ["retriever"]


def test_without_any_value_there_is_a_row_all_the_same() -> None:
    text = shown([cell("closed_book", None)])
    assert "closed_book" in text


def test_the_key_of_the_data_is_an_axis_only_where_nothing_else_tells_them_apart() -> None:
    keys = [{"dataset.key": "a"}, {"dataset.key": "b"}]
    assert varying(keys) == ["dataset.key"]
    queries = [{"dataset.queries": name, **key} for name, key in zip(("original", "prepared"), keys, strict=True)]
    assert varying(queries) == ["dataset.queries"]
