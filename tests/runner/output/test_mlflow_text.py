"""What MLflow's pages say in words."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.json_value import Json
from runner.output.mlflow_text import Pages, description, run_name
from runner.output.standings import Standings
from runner.ranking import ranked
from runner.results import SweepResult
from tests.runner.output.test_terminal import cell

FOLDER = Path("results/a-sweep")


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({"retriever": "hybrid", "chunk.size": 128, "top_k": 4}, "hybrid size=128 top_k=4"),
        ({"retriever": "closed_book", "chunk.size": None, "top_k": None}, "closed_book"),
        ({"llm.base_url": "http://here", "chunk.overlap": 0.1}, "base_url=http://here overlap=0.1"),
        ({}, ""),
    ],
)
def test_runs_are_named_after_what_varies(axes: dict[str, Json], expected: str) -> None:
    assert run_name(axes, list(axes)) == expected


def described(
    *values: float | None,
    command: str = "python -m runner -m retriever=a,b",
    samples: str = "",
    report: str = "",
    may_be_best: dict[str, bool] | None = None,
) -> str:
    cells = [
        replace(cell(f"cell{n}", value), status="FAILED" if value is None else "OK") for n, value in enumerate(values)
    ]
    raw = tuple({"cell_id": each.cell_id, "axes": each.axes} for each in cells)
    sweep = SweepResult("a-sweep", "test", "OK", command, (), "", "", raw, {})
    metrics, ordered = ranked(cells)
    standings = Standings(ordered, metrics if ordered[0].status == "OK" else [], may_be_best=may_be_best or {})
    return description(sweep, FOLDER, standings, ["retriever", "top_k"], Pages("http://here", samples, report))


def test_a_description_begins_with_the_best_cell() -> None:
    text = described(0.25, 0.5, None)
    assert text.startswith(
        "Best by accuracy: **cell1 top_k=5** (cell1), 0.5000 [0.5000, 0.5000]; "
        "0.2500 ahead of the next, cell0 top_k=5\n\n"
    )
    assert "[All cells as a table](http://here)**: 2 of 3 complete." in text
    assert "Swept: retriever = cell0, cell1, cell2; top_k = 5" in text
    assert "| cell1 top_k=5 | cell1 | 0.5000 [0.5000, 0.5000] |\n| cell0 top_k=5 | cell0 | 0.2500" in text
    assert "python -m analysis compare results/a-sweep" in text


def test_cells_that_may_be_as_good_are_named() -> None:
    text = described(0.25, 0.5, 0.5, 0.1, may_be_best={"cell0": True, "cell1": True, "cell2": True, "cell3": False})
    assert "Of the other 3, 2 may be as good (95% sure that the best is among all these): cell2 top_k=5, cell0 " in text
    text = described(0.25, 0.5, may_be_best={"cell0": True, "cell1": True})
    assert "\n\nBut these samples show no difference between it and any of the other 1." in text


def test_a_cell_that_is_better_than_all_others_is_said_to_be() -> None:
    text = described(0.25, 0.5, may_be_best={"cell0": False, "cell1": True})
    assert "It is ahead of the other 1 by more than chance explains." in text


def test_nothing_is_said_of_cells_that_were_not_tested() -> None:
    assert "chance" not in described(0.25, 0.5)


def test_samples_and_a_report_are_pointed_at_where_there_are_some() -> None:
    assert f"`python -m analysis report {FOLDER}`" in (text := described(0.5))
    assert "side by side" not in text
    text = described(0.5, samples="http://there", report="http://page")
    assert "**[Report](http://page)**" in text
    assert "analysis report" not in text
    assert "[Samples of the first cells side by side](http://there)" in text


def test_words_from_outside_are_words() -> None:
    text = described(0.5, command="python -m runner name='a|b`<script>\u202egnp\x1b[2J\nc'")
    assert "The command: `python -m runner name='a/b'&lt;script>\\u202egnp\\x1b[2J c'`" in text


def test_without_a_complete_cell_nothing_is_best() -> None:
    text = described(None, None)
    assert "Best" not in text
    assert "0 of 2 complete" in text


def test_of_cells_that_nothing_ranks_none_is_best() -> None:
    """A length, say: neither longer nor shorter answers are better."""
    cells = [replace(cell(f"cell{n}", n / 4), larger_is_better={}) for n in range(2)]
    sweep = SweepResult("a-sweep", "test", "OK", "python -m runner", (), "", "", (), {})
    assert "Best" not in description(sweep, FOLDER, Standings(cells, ["accuracy"]), ["retriever"], Pages("http://here"))


def test_a_long_leaderboard_is_cut_and_says_so() -> None:
    text = described(*(n / 100 for n in range(30)))
    assert "cells (the first 10 of 30)" in text
    assert text.count("\n| cell") == 11


def test_what_users_write_stays_text() -> None:
    text = described(0.5, command="python -m runner 'name=`x` | <script>alert(1)</script>'")
    assert "<script" not in text
    assert "`python -m runner 'name='x' / &lt;script>alert(1)&lt;/script>'`" in text


def test_a_run_that_changes_one_of_many_axes_goes_by_its_change() -> None:
    base = {"refiner": "none", "chunk": "sentence", "header": "none", "context.window": 0}
    varied = list(base)
    assert run_name({**base, "refiner": "tables"}, varied, base) == "refiner=tables"
    assert run_name({**base, "header": None}, varied, base) == "the base"
