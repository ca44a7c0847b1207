"""The leaderboard in a narrow terminal, and with cells that failed or left samples out."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest

from runner.console.display import SafeConsole
from runner.output.terminal import cells_with_row, show_leaderboard, show_stopped, show_subsets
from runner.results import CellResult
from runner.results.joined_samples import CommonMeans
from runner.results.leaderboard_order import HEADLINES, rank_cells


def entry(value: float | None, n: int = 4, **n_excluded: int) -> dict[str, Any]:
    return {"value": value, "n": n, "n_excluded": n_excluded, "ci_low": value, "ci_high": value}


DIRECTIONS = {name: name != "context_tokens" for name in HEADLINES}


def cell(cell_id: str, value: float | None, **facts: Any) -> CellResult:
    metrics = {"overall": {name: entry(value) for name in HEADLINES}}
    axes = {"retriever": cell_id, "top_k": 5}
    return CellResult(cell_id, "OK", axes, (), {}, {}, **{"metrics": metrics, "larger_is_better": DIRECTIONS, **facts})


CELLS = [cell("bm25", 0.25), cell("hybrid", 0.5)]


def render(cells: list[CellResult], width: int = 400) -> str:
    output = io.StringIO()
    show_leaderboard(SafeConsole(file=output, width=width), *rank_cells(cells))
    return output.getvalue()


RACE = {"metric": "rouge_l", "n": 40, "n_samples": 312, "confidence": 0.95, "margin": 0.0, "behind": 0.1}


def test_leaderboard_has_columns_for_axes_of_stopped_cells() -> None:
    output = io.StringIO()
    stopped = replace(CELLS[1], status="STOPPED", metrics={}, race=RACE, axes={"retriever": "hybrid", "top_k": 9})
    show_leaderboard(SafeConsole(file=output, width=400), *rank_cells(CELLS[:1]), stopped=[stopped])
    assert output.getvalue().splitlines()[1].split()[:3] == ["cell", "retriever", HEADLINES[0]]
    other = replace(stopped, axes={"retriever": "bm25", "top_k": 9})
    output.truncate(0)
    show_leaderboard(SafeConsole(file=output, width=400), *rank_cells(CELLS[:1]), stopped=[stopped, other])
    assert output.getvalue().splitlines()[1].split()[:3] == ["cell", "retriever", "top_k"]
    assert "top_k=" not in output.getvalue()


@pytest.mark.parametrize("margin", [0.0, 0.03])
def test_zero_bound_is_explained_if_the_race_has_a_margin(margin: float) -> None:
    output = io.StringIO()
    stopped = replace(CELLS[1], status="STOPPED", metrics={}, race={**RACE, "margin": margin, "behind": 0.0})
    show_stopped(SafeConsole(file=output, width=400), [stopped])
    assert ("race.margin=0.03: a cell may stop although" in output.getvalue()) == bool(margin)


def test_leaderboard_shows_the_best_cell_first() -> None:
    text = render(CELLS)
    assert text.index("hybrid") < text.index("bm25")


@pytest.mark.parametrize("width", [60, 80, 110, 400])
def test_narrow_leaderboard_shows_fewer_metrics_without_cutting_text(width: int) -> None:
    lines = render(CELLS, width).splitlines()
    assert "…" not in "".join(lines)
    assert lines[1].split()[:3] == ["cell", "retriever", HEADLINES[0]]
    assert any("a wider terminal also shows" in line for line in lines) == (width < 400)


def test_long_leaderboard_shows_the_first_cells_and_marks_the_overall_best() -> None:
    cells = [cell(f"cell-{i:03}", i / 120) for i in range(120)]
    cheapest = cell(
        "cheapest", 0.0, metrics={"overall": {**cells[0].metrics["overall"], "context_tokens": entry(-1.0)}}
    )
    lines = render([*cells, cheapest]).splitlines()
    assert [line.split()[0] for line in lines[2:52]] == [f"cell-{i:03}" for i in reversed(range(70, 120))]
    assert lines[52] == "the first 50 of 121 cells; all are in leaderboard.csv"
    output = io.StringIO()
    show_leaderboard(SafeConsole(file=output, width=400, force_terminal=True), *rank_cells([*cells, cheapest]))
    bold = re.findall(r"\x1b\[1m(-?[\d.]+)\x1b", output.getvalue())
    assert set(bold) == {"0.9917"}, "the smallest number of tokens is in a row that is not shown"


def test_equal_cells_share_one_leaderboard_row() -> None:
    first, second = (replace(cell(f"hybrid{k}", 0.5), axes={"retriever": "hybrid", "top_k": k}) for k in (2, 8))
    second.metrics["overall"]["context_tokens"] = entry(0.75)
    output = io.StringIO()
    equal = {"hybrid2": [second]}
    metrics, ordered = rank_cells([first, second, CELLS[0]])
    show_leaderboard(SafeConsole(file=output, width=400), metrics, ordered, equal=equal)
    lines = output.getvalue().splitlines()
    assert lines[2].split()[:5] == ["hybrid2", "+1", "equal", "2,", "8"]
    assert "0.5000 to 0.7500" in lines[2]
    assert lines[3].split()[0] == "bm25"
    assert lines[4].startswith(
        f"+n equal: the row stands for n more cells with the same {metrics[0]} for every sample;"
    )
    assert [each.cell_id for each in cells_with_row(ordered, equal)] == ["hybrid2", "bm25"]


def test_leaderboard_ranks_a_failed_cell_last() -> None:
    failed = replace(cell("dense", 0.9), status="FAILED", reason="3 of 4 answers failed")
    _, ordered = rank_cells([failed, *CELLS])
    assert [each.cell_id for each in ordered] == ["hybrid", "bm25", "dense"]
    assert "dense FAILED" in render([failed, *CELLS])


def test_leaderboard_shows_markup_in_axes_as_plain_text() -> None:
    hostile = replace(cell("dense", 0.9), status="FAILED", axes={"retriever": "[/b] [dim]"})
    assert "[/b] [dim]" in render([hostile, *CELLS])


def test_leaderboard_sorts_cells_with_different_samples_by_common_means() -> None:
    """The first cell has the higher mean over its own samples, because it leaves out hard ones."""
    output = io.StringIO()
    common = CommonMeans(6, {"bm25": 0.7, "hybrid": 0.6})
    show_leaderboard(SafeConsole(file=output, width=400), *rank_cells(CELLS, common=common), common)
    lines = output.getvalue().splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["bm25", "hybrid"]
    assert lines[1].split()[2:5] == [HEADLINES[0], "(n=6", "common)"]
    assert lines[2].split()[2:4] == ["0.7000", "0.2500"]
    assert f"sorted over the 6 samples for which every cell has a value of {HEADLINES[0]}" in lines


def subsets_shown(second: float | None) -> list[str]:
    """Return the subset table of a cell with values in two subsets, and of one with `second` in the second subset."""
    name = HEADLINES[0]
    cells = [
        cell(cell_id, 0.5, metrics={s: {name: entry(v)} for s, v in values.items()})
        for cell_id, values in {
            "bm25": {"overall": 0.5, "easy": 0.8, "hard": 0.2, "macro": 0.5},
            "hybrid": {"overall": 0.7, "easy": 0.7, "hard": second, "macro": 0.7},
        }.items()
    ]
    output = io.StringIO()
    show_subsets(SafeConsole(file=output, width=400), *rank_cells(cells))
    return output.getvalue().splitlines()


def test_cell_that_lacks_a_subset_has_no_mean_over_subsets() -> None:
    """The mean would be the highest of its column, because the cell left out the hard subset."""
    lines = subsets_shown(second=None)
    assert lines[2].split() == ["hybrid", "0.7000", "–", "–"]
    assert lines[3].split() == ["bm25", "0.8000", "0.2000", "0.5000"]
    assert lines[4] == "cells without a value in every subset have no macro, because it would average other subsets"
    assert subsets_shown(second=0.7)[2:] == [
        "hybrid  0.7000  0.7000  0.7000  ",
        "bm25    0.8000  0.2000  0.5000  ",
    ]


def test_subsets_with_the_same_last_part_have_their_whole_names() -> None:
    values = {"overall": 0.5, "2023/news": 0.4, "2024/news": 0.5, "2024/mail": 0.6}
    metrics = {subset: {HEADLINES[0]: entry(value)} for subset, value in values.items()}
    output = io.StringIO()
    show_subsets(SafeConsole(file=output, width=400), *rank_cells([cell("bm25", 0.5, metrics=metrics)]))
    assert output.getvalue().splitlines()[1].split() == ["cell", "2023/news", "2024/news", "mail"]


def test_subsets_in_other_scripts_have_their_labels() -> None:
    metrics = {subset: {HEADLINES[0]: entry(0.5)} for subset in ("overall", "0bf8c6c0", "create")}
    labels = {"0bf8c6c0": "引文", "create": "Create"}
    labelled = replace(cell("bm25", 0.5, metrics=metrics), dataset={"labels": labels})
    output = io.StringIO()
    show_subsets(SafeConsole(file=output, width=400), *rank_cells([labelled]))
    assert output.getvalue().splitlines()[1].split() == ["cell", "引文", "create"]


def test_intervals_of_lengths_have_as_many_decimals_as_lengths() -> None:
    metrics = {"overall": {"length": {**entry(120.4), "ci_low": 98.12345, "ci_high": 143.98765}}}
    assert "120.4 98.1–144.0" in render([cell("bm25", 0.5, metrics=metrics)])


def test_leaderboard_reports_left_out_samples_once() -> None:
    metrics = {"overall": {"rouge_l": entry(0.5), "mrr": entry(0.5, n=1, no_gold_in_corpus=3)}}
    text = render([cell("bm25", 0.5, metrics=metrics), cell("hybrid", 0.5, metrics=metrics)])
    assert text.count("mrr: over 1 of 4 samples; 3 without gold in the corpus") == 1


def test_leaderboard_names_cells_that_leave_samples_out() -> None:
    whole = cell("bm25", 0.5, metrics={"overall": {"rouge_l": entry(0.5), "f1": entry(0.5)}})
    refusing = {"overall": {name: entry(0.6, n=1, refused=3) for name in ("rouge_l", "f1")}}
    one = render([whole, cell("hybrid", 0.6, metrics=refusing)])
    assert "\nrouge_l, f1 (hybrid): over 1 of 4 samples; 3 refused\n" in one
    five = render([whole, *(cell(f"dense-{i}", 0.6, metrics=refusing) for i in range(5))])
    assert "\nrouge_l, f1 (dense-0, dense-1, dense-2 and 2 more): over 1 of 4 samples" in five


def test_leaderboard_shows_cells_without_any_value() -> None:
    text = render([cell("closed_book", None)])
    assert "closed_book" in text


def judged(cell_id: str, hallucination: float, length: float = 3.0, direction: bool | None = False) -> CellResult:
    metrics = {"overall": {"hallucination": entry(hallucination), "a_length": entry(length)}}
    return cell(cell_id, 0.0, metrics=metrics, larger_is_better={"hallucination": direction, "a_length": None})


class TestDirection:
    CELLS = (judged("worse", 0.9), judged("better", 0.05, length=9.0), judged("between", 0.5))

    def test_leaderboard_ranks_less_hallucination_above_more(self) -> None:
        metrics, ordered = rank_cells(self.CELLS)
        assert metrics == ["hallucination", "a_length"]
        assert [each.cell_id for each in ordered] == ["better", "between", "worse"]

    def test_larger_values_come_first_if_larger_is_better(self) -> None:
        _, ordered = rank_cells(replace(each, larger_is_better={"hallucination": True}) for each in self.CELLS)
        assert [each.cell_id for each in ordered] == ["worse", "between", "better"]

    def test_leaderboard_marks_the_smallest_value_and_no_length(self) -> None:
        output = io.StringIO()
        show_leaderboard(SafeConsole(file=output, width=400, force_terminal=True), *rank_cells(self.CELLS))
        text = output.getvalue()
        assert "by hallucination (smaller is better)" in text
        assert "\x1b[1m0.0500" in text
        assert "\x1b[1m0.9000" not in text
        assert "\x1b[1m9.0000" not in text

    def test_metric_without_a_direction_keeps_the_order(self) -> None:
        lengths = [replace(each, larger_is_better={}) for each in self.CELLS]
        assert [each.cell_id for each in rank_cells(lengths)[1]] == ["worse", "better", "between"]


SAME = {"llm": "extractive", "judge": "none", "chunk.size": 128}


def test_leaderboard_names_models_among_shared_settings() -> None:
    axes = {"embedder": "sentence_transformers", "embedder.model": "owner/name", "llm": "transformers"}
    cells = [replace(each, axes={**each.axes, **axes, "llm.model": f"of {each.cell_id}"}) for each in CELLS]
    lines = render(cells).splitlines()
    assert "fixed in this sweep: top_k=5, embedder=sentence_transformers (owner/name), llm=transformers" in lines


def test_leaderboard_hides_a_data_key_that_another_axis_determines() -> None:
    cells = [replace(each, axes={**each.axes, "dataset.key": f"of {each.cell_id}", **SAME}) for each in CELLS]
    assert "dataset.key" not in render(cells)


def test_leaderboard_names_dependent_axes_without_a_column() -> None:
    cells = [replace(each, axes={**each.axes, "reranker": f"of {each.cell_id}", **SAME}) for each in CELLS]
    lines = render(cells).splitlines()
    assert lines[1].split()[:3] == ["cell", "retriever", HEADLINES[0]]
    assert lines[-1] == "without a column, because they change together with another axis: reranker"
    assert "fixed in this sweep: top_k=5, llm=extractive" in lines, (
        "no settings of components, and none that do nothing"
    )


def test_leaderboard_names_cells_by_their_one_changed_axis() -> None:
    base = {"refiner": "none", "chunk": "sentence", "header": "none", "top_k": 5}
    others = [{}, {"refiner": "tables"}, {"chunk": "token"}, {"header": "title"}, {"top_k": 9}]
    cells = [replace(cell(f"cell{n}", n / 10), axes={**base, **more}) for n, more in enumerate(others, 1)]
    lines = render(cells, width=120).splitlines()
    assert lines[1].split()[:3] == ["cell", "changed", HEADLINES[0]]
    named = [line.split()[1] for line in lines[2:7]]
    assert named == ["top_k=9", "header=title", "chunk=token", "refiner=tables", "the"]
    assert "the base: refiner=none, chunk=sentence, header=none, top_k=5" in "\n".join(lines)


def test_leaderboard_title_counts_samples_with_the_metric() -> None:
    first = HEADLINES[0]
    some = [replace(own, metrics={"overall": {first: entry(0.5, 300, no_gold=809)}}) for own in CELLS]
    assert render(some).startswith(f"Leaderboard by {first} (larger is better): 300 of 1,109 samples with a value\n")
    fewer = replace(CELLS[0], metrics={"overall": {first: entry(0.5, 290, no_gold=809, failed=10)}})
    assert render([fewer, some[1]]).startswith(
        f"Leaderboard by {first} (larger is better): 290 to 300 of 1,109 samples with a value\n"
    )
