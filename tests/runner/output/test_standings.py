"""The line below a leaderboard about its first row."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import DataError
from runner import results
from runner.output.standings import MAX_TESTED_CELLS, RankedCells, find_standings, first_row_line
from runner.results import CellResult
from runner.results.cell_choice import Choice
from tests.analysis import tiny_sweep
from tests.analysis.report.pages import rendered, report_on
from tests.runner.output.test_terminal import cell
from tests.runner.sweeping import SWEEP_ID, own_data, run_small


@pytest.mark.parametrize(("n_cells", "is_untested"), [(MAX_TESTED_CELLS, False), (MAX_TESTED_CELLS + 1, True)])
def test_untested_large_sweep_warns_that_another_cell_may_be_best(n_cells: int, is_untested: bool) -> None:
    cells: list[CellResult] = [cell(f"cell{n}", n / 100) for n in range(n_cells)]
    line = first_row_line(RankedCells(cells, ["accuracy"]))
    assert (
        "First row: the best accuracy." in line and "The report and the name `best` test them" in line
    ) is is_untested


def result(retriever: str, top_k: int) -> CellResult:
    return CellResult(f"{retriever}{top_k}", "OK", {"retriever": retriever, "top_k": top_k}, (), {}, {})


def test_first_row_line_names_the_cell_to_take_among_equal_cells() -> None:
    few, many, other = result("bm25", 2), result("bm25", 8), result("dense", 2)
    means = {"bm252": 0.9, "bm258": 0.9, "dense2": 0.4}
    cells = (few, many, other)
    both = ((few, many),)
    line = first_row_line(RankedCells(cells, ["f1"], choice=Choice(few, both, both, cells, means, False)))
    assert line.startswith("First row: the cell to take (retriever=bm25,top_k=2). 2 of 3 cells may have the best f1")
    tied = ((few,), (other,))
    line = first_row_line(RankedCells(cells, ["f1"], choice=Choice(few, tied, tied[:1], cells, means, False)))
    assert line.startswith("First row: the cell to take. 2 of 3 cells")


def test_first_row_line_names_a_cheaper_cell_and_the_best_cell() -> None:
    best, cheap, other = result("bm25", 8), result("bm25", 2), result("dense", 2)
    tied = ((best,), (cheap,), (other,))
    choice = Choice(cheap, tied, tied[:2], (best, cheap, other), {}, False)
    assert first_row_line(RankedCells((cheap, best, other), ["f1"], choice=choice)) == (
        "First row: the cell to take, the cheapest of the 2 within one standard error of the best f1 "
        "(retriever=bm25,top_k=8). 3 of 3 cells may have the best f1 (see docs/decisions.md)."
    )


@pytest.mark.parametrize(
    ("n", "margin", "text"),
    [
        (1, 0.0, "the stopped cell would not have a better f1 over all samples."),
        (3, 0.0, "none of the 3 stopped cells would have a better f1 over all samples."),
        (3, 0.02, "none of the 3 stopped cells would be more than 0.02 better in f1 over all samples."),
    ],
)
def test_first_row_line_reports_the_winner_of_a_race(n: int, margin: float, text: str) -> None:
    race = {"metric": "f1", "confidence": 0.95, "margin": margin}
    stopped = [replace(result("bm25", 8), status="STOPPED", race=race)] * n
    finisher = replace(result("bm25", 2), larger_is_better={"f1": True})
    line = first_row_line(RankedCells((finisher,), ["f1"]), stopped)
    assert line == f"The cell to take. It won the race: with 95% confidence, {text}"


TEXTS = {"a": "The bridge is here.", "b": "No bridge is there."}
QUESTIONS = [{"id": f"q{place}", "question": "Where is the bridge?"} for place in range(6)]


def test_first_row_line_names_an_upper_bound(tmp_path: Path) -> None:
    cells = [*tiny_sweep.CELLS[:-1], replace(tiny_sweep.CELLS[-1], axes={"retriever": "oracle"}, rouge_l=[1.0] * 8)]
    standings = find_standings(results.load(tiny_sweep.write(tmp_path, cells)).cells, tmp_path, "rouge_l")
    assert standings.best
    assert standings.best.axes["retriever"] != "oracle"
    assert "retriever=oracle is an upper bound, and is not compared." in first_row_line(standings)


def test_upper_bound_takes_no_part_in_a_choice_by_a_corpus_metric(tmp_path: Path) -> None:
    cells = [["retriever=oracle"], ["retriever=bm25", "top_k=1"], ["retriever=bm25", "top_k=4"]]
    assert run_small(tmp_path, *(("llm=extractive", "run.headline=bleu", *each) for each in cells)) == 0
    board = (tmp_path / "results" / SWEEP_ID / "leaderboard.csv").read_text(encoding="utf-8")
    assert len(board.splitlines()) == 1 + len(cells)


def test_token_count_alone_recommends_no_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (*own_data(tmp_path, TEXTS, QUESTIONS), "language=en", "llm=none")
    cells = ([*data, "metrics=retrieval", f"top_k={top_k}"] for top_k in (1, 2))
    assert run_small(tmp_path, *cells) == 0
    shown = capsys.readouterr().out
    assert "no question has gold or a reference, and no judge grades" in " ".join(shown.split())
    assert "No cell to take: context_tokens does not measure quality" in " ".join(shown.split())
    sweep = results.load(tmp_path / "results" / SWEEP_ID)
    standings = find_standings(sweep.cells, sweep.folder, sweep.headline)
    assert (standings.best, standings.leaders, standings.lacks_quality) == (None, [], True)
    with pytest.raises(DataError, match="no cell is the best"):
        sweep.cell("best")
    assert sweep.cell("best:context_tokens").axes["top_k"] == 1
    page, text, _ = rendered(report_on(sweep.folder))
    assert "No cell can be recommended: context_tokens does not measure quality" in page.text
    assert "python -m analysis samples shows any of them" in page.text
    assert "Take " not in text


def test_tokens_rank_cells_if_the_headline_names_them(tmp_path: Path) -> None:
    data = (*own_data(tmp_path, TEXTS, QUESTIONS), "language=en", "llm=none")
    cells = ([*data, "metrics=retrieval", "run.headline=context_tokens", f"top_k={top_k}"] for top_k in (1, 2))
    assert run_small(tmp_path, *cells) == 0
    assert results.load(tmp_path / "results" / SWEEP_ID).cell("best").axes["top_k"] == 1
