"""The texts on MLflow's pages."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from components.json_value import Json
from runner.output.mlflow_text import Pages, description, run_name
from runner.output.standings import RankedCells
from runner.results import SweepResult
from runner.results.cell_choice import choose
from runner.results.leaderboard_order import rank_cells
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
def test_mlflow_runs_are_named_by_their_varying_axes(axes: dict[str, Json], expected: str) -> None:
    assert run_name(axes, list(axes)) == expected


def described(
    *values: float | None,
    command: str = "python -m runner -m retriever=a,b",
    samples: str = "",
    report: str = "",
    tied: tuple[str, ...] = (),
    without_value: str = "FAILED",
    race: Mapping[str, Json] = {},
) -> str:
    """`tied` are the ids of cells that may be the best, if they were tested. Cells without a value have the status
    `without_value`.
    """
    made = [cell(f"cell{n}", value) for n, value in enumerate(values)]
    cells = [
        replace(
            own,
            status=without_value if own.value("accuracy") is None else "OK",
            metrics={"overall": {"accuracy": own.metrics["overall"]["accuracy"]}},
            ranking_metrics=(),
            race=race if own.value("accuracy") is None else {},
        )
        for own in made
    ]
    raw = tuple({"cell_id": each.cell_id, "axes": each.axes} for each in cells)
    sweep = SweepResult("a-sweep", "test", "OK", command, (), "", "", raw, {})
    metrics, ordered = rank_cells(cells)
    means = {each.cell_id: each.value("accuracy") or 0.0 for each in cells}
    groups = [[each] for each in ordered if each.cell_id in tied]
    choice = choose(groups, [True] * len(groups), ordered, "accuracy", means) if tied else None
    standings = RankedCells(ordered, metrics if ordered[0].status == "OK" else [], choice=choice)
    return description(sweep, FOLDER, standings, ["retriever", "top_k"], Pages("http://here", samples, report))


def test_mlflow_description_counts_cells_stopped_by_a_race_or_the_user() -> None:
    text = described(0.5, 0.4, None, without_value="STOPPED", race={"metric": "accuracy"})
    assert "2 of 3 complete, 1 stopped by the race." in text
    assert "1 stopped by the user." in described(0.5, 0.4, None, without_value="STOPPED")
    assert "stopped" not in described(0.5, None)


def test_mlflow_description_begins_with_the_cell_to_take() -> None:
    text = described(0.25, 0.5, None, tied=("cell1",))
    assert text.startswith(
        "Take **cell1 top_k=5**. It has the best accuracy: 0.5000 over all samples, and **all other cells are "
        "significantly worse**.\n\n"
    )
    assert "[All cells as a table](http://here)**: 2 of 3 complete." in text
    assert "Swept: retriever = cell0, cell1, cell2; top_k = 5" in text
    assert "| cell1 top_k=5 | cell1 | 0.5000 [0.5000, 0.5000] |\n| cell0 top_k=5 | cell0 | 0.2500" in text
    assert "`python -m analysis compare results/a-sweep --metric accuracy`" in text


def test_mlflow_description_counts_cells_that_may_be_as_good() -> None:
    text = described(0.25, 0.5, 0.5, 0.1, tied=("cell0", "cell1", "cell2"))
    assert "It does not differ significantly from **2 of the 3 other cells**" in text
    text = described(0.25, 0.5, tied=("cell0", "cell1"))
    assert "It does not differ significantly from **the other cell**" in text


def test_mlflow_description_of_many_cells_names_ties_without_a_test() -> None:
    text = described(*[0.5] * 3, *[0.25] * 60)
    assert text.startswith(
        "Best by accuracy: **cell0 top_k=5** (cell0), 0.5000 [0.5000, 0.5000], tied with 2 others. Sweeps of more than "
        "60 cells are not tested here. The report and the name `best` test them, and may take a cheaper cell.\n\n"
    )
    assert described(0.5).startswith("Best by accuracy: **cell0 top_k=5** (cell0), 0.5000 [0.5000, 0.5000].\n\n")


def test_mlflow_description_links_samples_and_report_if_they_exist() -> None:
    assert f"`python -m analysis report {FOLDER}`" in (text := described(0.5))
    assert "side by side" not in text
    text = described(0.5, samples="http://there", report="http://page")
    assert "**[Report](http://page)**" in text
    assert "analysis report" not in text
    assert "[Samples of the first cells side by side](http://there)" in text


def test_mlflow_description_escapes_the_command() -> None:
    text = described(0.5, command="python -m runner name='a|b`<script>\u202egnp\x1b[2J\nc'")
    assert "Command: `python -m runner name='a/b'&lt;script>\\u202egnp\\x1b[2J c'`" in text


def test_mlflow_description_names_no_best_cell_without_a_complete_one() -> None:
    text = described(None, None)
    assert "Best" not in text
    assert "0 of 2 complete" in text


def test_mlflow_description_names_no_best_cell_for_an_unranked_metric() -> None:
    """A length, say: neither longer nor shorter answers are better."""
    cells = [replace(cell(f"cell{n}", n / 4), larger_is_better={}) for n in range(2)]
    sweep = SweepResult("a-sweep", "test", "OK", "python -m runner", (), "", "", (), {})
    assert "Best" not in description(
        sweep, FOLDER, RankedCells(cells, ["accuracy"]), ["retriever"], Pages("http://here")
    )


def test_mlflow_description_cuts_a_long_leaderboard() -> None:
    text = described(*(n / 100 for n in range(30)))
    assert "cells (the first 10 of 30)" in text
    assert text.count("\n| cell") == 11


def test_mlflow_description_escapes_markup_of_users() -> None:
    text = described(0.5, command="python -m runner 'name=`x` | <script>alert(1)</script>'")
    assert "<script" not in text
    assert "`python -m runner 'name='x' / &lt;script>alert(1)&lt;/script>'`" in text


def test_run_with_one_changed_axis_is_named_by_the_change() -> None:
    base = {"refiner": "none", "chunk": "sentence", "header": "none", "context.window": 0}
    varied = list(base)
    assert run_name({**base, "refiner": "tables"}, varied, base) == "refiner=tables"
    assert run_name({**base, "header": None}, varied, base) == "the base"
