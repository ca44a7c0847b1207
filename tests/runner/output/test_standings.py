"""The line below a leaderboard about its first row."""

import pytest

from runner.output.standings import MOST_TESTED, Standings, first_row_line
from runner.results import CellResult
from runner.results.cell_choice import Choice
from tests.runner.output.test_terminal import cell


@pytest.mark.parametrize(("n_cells", "is_untested"), [(MOST_TESTED, False), (MOST_TESTED + 1, True)])
def test_a_large_sweep_says_that_best_may_be_another_cell(n_cells: int, is_untested: bool) -> None:
    cells: list[CellResult] = [cell(f"cell{n}", n / 100) for n in range(n_cells)]
    line = first_row_line(Standings(cells, ["accuracy"]))
    assert ("First row: the best accuracy." in line and "`best` and the report, which may take" in line) is is_untested


def result(retriever: str, top_k: int) -> CellResult:
    return CellResult(f"{retriever}{top_k}", "OK", {"retriever": retriever, "top_k": top_k}, (), {}, {})


def test_the_cell_to_take_is_named_if_the_first_row_stands_for_several() -> None:
    few, many, other = result("bm25", 2), result("bm25", 8), result("dense", 2)
    means = {"bm252": 0.9, "bm258": 0.9, "dense2": 0.4}
    cells = (few, many, other)
    line = first_row_line(Standings(cells, ["f1"], choice=Choice(few, ((few, many),), cells, means, False)))
    assert line.startswith("First row: the cell to take (retriever=bm25,top_k=2). 2 of 3 cells may have the best f1")
    line = first_row_line(Standings(cells, ["f1"], choice=Choice(few, ((few,), (other,)), cells, means, False)))
    assert line.startswith("First row: the cell to take. 2 of 3 cells")


def test_a_much_lower_mean_of_the_cell_to_take_is_pointed_out() -> None:
    best, cheap = result("bm25", 8), result("bm25", 2)
    choice = Choice(cheap, ((best,), (cheap,)), (best, cheap), {"bm258": 1.0, "bm252": 0.71}, False)
    line = first_row_line(Standings((cheap, best), ["f1"], choice=choice))
    assert line.endswith("Its mean is 29% worse than that of top_k=8: see the report.")
