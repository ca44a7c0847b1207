"""The line below a leaderboard about its first row."""

import pytest

from runner.output.standings import MOST_TESTED, Standings, first_row_line
from runner.results import CellResult
from tests.runner.output.test_terminal import cell


@pytest.mark.parametrize(("n_cells", "is_untested"), [(MOST_TESTED, False), (MOST_TESTED + 1, True)])
def test_a_large_sweep_says_that_best_may_be_another_cell(n_cells: int, is_untested: bool) -> None:
    cells: list[CellResult] = [cell(f"cell{n}", n / 100) for n in range(n_cells)]
    line = first_row_line(Standings(cells, ["accuracy"]))
    assert ("First row: the best accuracy." in line and "`best` and the report, which may take" in line) is is_untested
