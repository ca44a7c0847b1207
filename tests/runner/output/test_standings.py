"""The line below a leaderboard about its first row."""

from pathlib import Path

import pytest

from components.errors import DataError
from runner import results
from runner.output.standings import MOST_TESTED, Standings, find_standings, first_row_line
from runner.results import CellResult
from tests.analysis.report.pages import rendered, report_on
from tests.runner.output.test_terminal import cell
from tests.runner.sweeping import SWEEP_ID, own_data, run_small


@pytest.mark.parametrize(("n_cells", "is_untested"), [(MOST_TESTED, False), (MOST_TESTED + 1, True)])
def test_a_large_sweep_says_that_best_may_be_another_cell(n_cells: int, is_untested: bool) -> None:
    cells: list[CellResult] = [cell(f"cell{n}", n / 100) for n in range(n_cells)]
    line = first_row_line(Standings(cells, ["accuracy"]))
    assert ("First row: the best accuracy." in line and "`best` and the report, which may take" in line) is is_untested


TEXTS = {"a": "The bridge is here.", "b": "No bridge is there."}
QUESTIONS = [{"id": f"q{place}", "question": "Where is the bridge?"} for place in range(6)]


def test_the_fewest_tokens_recommend_no_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_tokens_rank_cells_if_the_user_says_so(tmp_path: Path) -> None:
    data = (*own_data(tmp_path, TEXTS, QUESTIONS), "language=en", "llm=none")
    cells = ([*data, "metrics=retrieval", "run.headline=context_tokens", f"top_k={top_k}"] for top_k in (1, 2))
    assert run_small(tmp_path, *cells) == 0
    assert results.load(tmp_path / "results" / SWEEP_ID).cell("best").axes["top_k"] == 1
