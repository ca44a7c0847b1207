"""The size of a cell: on disk, and in the memory of a sweep of many cells."""

import io
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from runner.output import terminal
from runner.output.leaderboard_csv import leaderboard_csv
from runner.results import CellResult, read_cell, read_sweep
from runner.results.leaderboard_order import rank_cells, select_ranked_part
from tests.runner.sweeping import SWEEP_ID, cells_in, entries_by_kind, run_small, samples_in, store_of


def only_folder(folder: Path) -> Path:
    (cell,) = cells_in(folder)
    return folder / "results" / SWEEP_ID / cell.cell_id


def pictures_in(folder: Path) -> set[str]:
    return {path.stem.removeprefix("matrix_") for path in only_folder(folder).glob("*.svg")}


class TestSamples:
    def test_sample_tables_are_stored_once_and_outlive_the_store(self, tmp_path: Path) -> None:
        assert run_small(tmp_path) == 0
        (result,) = entries_by_kind(store_of(tmp_path))["result"]
        assert (only_folder(tmp_path) / "samples.parquet").samefile(result.folder / "samples.parquet")
        rows = samples_in(tmp_path)
        shutil.rmtree(tmp_path / "results" / "store")
        assert samples_in(tmp_path) == rows
        assert len(rows) == 12

    def test_samples_of_a_deleted_sweep_are_restored_from_the_store(self, tmp_path: Path) -> None:
        run_small(tmp_path)
        shutil.rmtree(tmp_path / "results" / SWEEP_ID)
        (result,) = entries_by_kind(store_of(tmp_path))["result"]
        assert result.damages() == []
        assert run_small(tmp_path, sweep_id="again") == 0
        assert len(samples_in(tmp_path, "again")) == 12


class TestPictures:
    def test_pictures_follow_run_pictures_and_are_drawn_later_if_requested(self, tmp_path: Path) -> None:
        metrics = ("metrics=retrieval",)
        assert run_small(tmp_path, (*metrics, "run.pictures=none")) == 0
        assert pictures_in(tmp_path) == set()
        tables = {path.stem.removeprefix("matrix_") for path in only_folder(tmp_path).glob("*.csv")}
        assert run_small(tmp_path, (*metrics, "run.headline=map@10")) == 0
        assert pictures_in(tmp_path) == {"map@10", "ndcg@10", "mrr", "recall@10", "passage_coverage"}
        assert run_small(tmp_path, (*metrics, "run.pictures=all")) == 0
        (cell,) = cells_in(tmp_path)
        assert pictures_in(tmp_path) == tables == set(cell.metrics["overall"])
        assert cell.reused["result"]

    def test_unknown_value_of_run_pictures_is_rejected(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, ("run.pictures=some",)) == 2
        assert "run.pictures: got 'some' (str), expected one of headline, all, none" in capsys.readouterr().err


def test_leaderboards_read_only_the_parts_held_in_memory(tmp_path: Path) -> None:
    run_small(tmp_path, ("top_k=2",), ("top_k=4",))
    whole = cells_in(tmp_path)
    parts = [select_ranked_part(cell) for cell in whole]
    assert len(pickle.dumps(parts)) < len(pickle.dumps(whole)) / 15
    assert _render(parts) == _render(whole)
    assert [part.dataset["corpus"] for part in parts] == [cell.dataset["corpus"] for cell in whole]  # for `rank_cells`
    assert "by subset" in _render(parts)


def _render(cells: list[CellResult]) -> str:
    console = Console(file=io.StringIO(), width=400)
    terminal.show_leaderboard(console, *rank_cells(cells))
    terminal.show_subsets(console, *rank_cells(cells))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue() + leaderboard_csv(cells, ["top_k"], ["rouge_l", "ndcg@10"]).decode()


def test_sweep_holds_only_the_parts_of_cells_that_leaderboards_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory grew with cells by what their matrices and configurations take."""
    shown: list[CellResult] = []
    monkeypatch.setattr(terminal, "show_leaderboard", lambda console, metrics, cells, *_: shown.extend(cells))
    run_small(tmp_path)
    headline = read_sweep(tmp_path / "results" / SWEEP_ID).headline
    assert shown == [select_ranked_part(read_cell(only_folder(tmp_path)), headline)]


def test_subset_values_are_logged_only_for_ranking_metrics(tmp_path: Path) -> None:
    run_small(tmp_path)
    (cell,) = cells_in(tmp_path)
    assert _held(cell) == {"rouge_l"}
    assert _held(cell, "mrr") == {"mrr"}
    unscored = {**cell.metrics["overall"], "rouge_l": {**cell.metrics["overall"]["rouge_l"], "value": None}}
    assert _held(replace(cell, metrics={**cell.metrics, "overall": unscored})) == {"rouge_l", "f1"}
    own = {subset: {"own": entries["f1"]} for subset, entries in cell.metrics.items()}
    assert _held(replace(cell, metrics=own, own_metrics=("own",))) == {"own"}


def _held(cell: CellResult, headline: str = "") -> set[str]:
    part = select_ranked_part(cell, headline)
    of_subsets = [set(entries) for subset, entries in part.metrics.items() if subset != "overall"]
    assert of_subsets, "the data has subsets"
    assert all(held == of_subsets[0] for held in of_subsets)
    return of_subsets[0]
