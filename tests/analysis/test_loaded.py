import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.decision import candidates
from analysis.report.answer_section import gather
from analysis.report.report_input import open_source
from components.errors import DataError
from runner.output.standings import find_standings
from runner.results import CellResult
from runner.results.loaded_sweep import LoadedSweep, SubsetMetric, describe, find_cell, find_metric, load, varying_axes
from tests.analysis import tiny_sweep
from tests.analysis.decision.planted import write


@pytest.fixture(scope="module")
def cells(sweep: Path) -> tuple[CellResult, ...]:
    return load(str(sweep)).cells


class TestOpenSweep:
    def test_load_finds_a_sweep_by_folder_and_by_id(self, sweep: Path) -> None:
        assert load(str(sweep)) == load("tiny", sweep.parent)
        assert [cell.cell_id for cell in load(str(sweep)).cells] == [cell.cell_id for cell in tiny_sweep.CELLS]

    def test_latest_sweep_is_the_most_recently_written(self, tmp_path: Path) -> None:
        for name, time in (("2026", 2), ("a-name", 3), ("2027", 1)):
            os.utime(tiny_sweep.write(tmp_path / name) / "sweep.json", (time, time))
        assert load("latest", tmp_path).folder == tmp_path / "a-name"
        tiny_sweep.write(tmp_path / "latest")
        assert load("latest", tmp_path).folder == tmp_path / "latest"
        with pytest.raises(DataError, match=r"latest: no sweep here .* has none either"):
            load("latest", tmp_path / "empty")

    def test_latest_names_the_newest_sweep_of_any_results_folder(self, tmp_path: Path) -> None:
        for name, time in (("2026", 2), ("2027", 1)):
            os.utime(tiny_sweep.write(tmp_path / "other" / name) / "sweep.json", (time, time))
        tiny_sweep.write(tmp_path / "results" / "2028")
        assert load(str(tmp_path / "other" / "latest"), tmp_path / "results").folder == tmp_path / "other" / "2026"
        with pytest.raises(DataError, match=r"other: no sweep here .* The newest in .*other are 2026, 2027"):
            load(str(tmp_path / "other"), tmp_path / "results")
        with pytest.raises(DataError, match=r"else.latest: no sweep here .* The newest in .*results are 2028"):
            load(str(tmp_path / "else" / "latest"), tmp_path / "results")

    def test_unknown_sweep_id_lists_existing_sweeps(self, sweep: Path) -> None:
        with pytest.raises(DataError, match=r"tinny: no sweep here .* The newest in .*results.* are tiny"):
            load("tinny", sweep.parent)

    def test_unknown_sweep_id_reports_that_no_sweeps_exist(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="has none either"):
            load("tiny", tmp_path)


class TestSweep:
    @pytest.fixture
    def loaded(self, sweep: Path) -> LoadedSweep:
        return load(sweep)

    def test_loaded_sweep_is_equal_by_folder_and_by_id(self, sweep: Path, loaded: LoadedSweep) -> None:
        assert loaded == load("tiny", sweep.parent) == load(str(sweep))

    def test_ranking_puts_the_best_cell_first_in_either_direction(self, loaded: LoadedSweep) -> None:
        by_rouge = [cell.cell_id for cell in loaded.rank_cells("rouge_l")]
        assert by_rouge == [cell.cell_id for cell in reversed(loaded.rank_cells("hallucination"))]
        assert loaded.best("rouge_l").axes["retriever"] == "dense"
        assert loaded.best("hallucination") is loaded.cell("retriever=bm25,top_k=2")

    def test_best_cell_follows_the_leaderboard_metric_by_default(self, loaded: LoadedSweep) -> None:
        assert loaded.headlines()[:2] == ["rouge_l", "bleu"]
        assert loaded.cell("best") is loaded.best() is loaded.best("rouge_l")
        by_another = replace(loaded, headline="hallucination")
        assert by_another.cell("best") is loaded.best("hallucination") is not loaded.best()
        assert loaded.cell("best:hallucination") is loaded.best("hallucination")
        assert loaded.cell("best:read/qa_1doc:rouge_l") is loaded.best("read/qa_1doc:rouge_l")

    def test_best_equals_the_cell_that_report_and_mlflow_recommend(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "planted", {"size": ["64", "256"], "k": [2, 8]}, {"k": {8: 0.01}})
        loaded = load(folder)
        best = loaded.cell("best")
        assert best.axes["k"] == 2, "the cheaper one"
        assert gather(open_source(str(folder))).take == best.cell_id
        standings = find_standings(loaded.cells, folder, loaded.headline)
        assert standings.best is not None
        assert standings.best.cell_id == standings.ordered[0].cell_id == best.cell_id
        assert candidates(loaded, loaded.headline_metric())[0].take == best.cell_id != loaded.rank_cells()[0].cell_id

    def test_best_cell_by_an_unknown_metric_is_an_error(self, loaded: LoadedSweep) -> None:
        with pytest.raises(
            DataError, match="overall has no metric 'rogue_l', expected one of bleu, hallucination, rouge_l"
        ):
            loaded.cell("best:rogue_l")
        with pytest.raises(DataError, match=r"no cell has a value of any metric$"):
            replace(loaded, cells=()).cell("best")

    @pytest.mark.parametrize(
        "ask",
        [
            lambda sweep: sweep.cell("best"),
            lambda sweep: sweep.cell("retriever=bm25"),
            lambda sweep: sweep.metric("rouge_l"),
            lambda sweep: sweep.rank_cells(),
            lambda sweep: sweep.quality_metric(),
        ],
    )
    def test_sweep_without_results_reports_the_number_of_unfinished_cells(
        self, loaded: LoadedSweep, ask: Callable[[LoadedSweep], object]
    ) -> None:
        begun = replace(loaded, cells=(), unfinished=("ab", "cd"))
        with pytest.raises(DataError, match="no cell has a result yet, 2 to go"):
            ask(begun)

    def test_failed_cells_are_not_ranked(self, loaded: LoadedSweep) -> None:
        failed = replace(loaded, cells=tuple(replace(cell, status="FAILED") for cell in loaded.cells))
        assert failed.rank_cells("rouge_l") == []
        with pytest.raises(DataError, match="all 4 cells failed"):
            failed.best("rouge_l")

    def test_table_has_a_row_per_cell_and_a_column_per_metric(self, loaded: LoadedSweep) -> None:
        first, *_ = rows = loaded.table("rouge_l", "read:rouge_l")
        assert len(rows) == 4
        assert list(first) == ["cell_id", "status", "retriever", "top_k", "rouge_l", "read:rouge_l"]
        assert first["rouge_l"] == pytest.approx(0.25)


class TestFindMetric:
    @pytest.mark.parametrize(
        ("text", "subset"),
        [("rouge_l", "overall"), ("read/qa_1doc:rouge_l", "read/qa_1doc"), ("topic/funds:rouge_l", "topic/funds")],
    )
    def test_find_metric_reads_subset_and_metric(self, cells: tuple[CellResult, ...], text: str, subset: str) -> None:
        assert find_metric(text, cells) == SubsetMetric(subset, "rouge_l", larger_is_better=True)

    def test_unknown_metric_lists_the_known_metrics(self, cells: tuple[CellResult, ...]) -> None:
        with pytest.raises(DataError, match="read has no metric 'rouge', expected one of hallucination, rouge_l"):
            find_metric("read:rouge", cells)

    def test_unknown_subset_lists_the_known_subsets(self, cells: tuple[CellResult, ...]) -> None:
        with pytest.raises(
            DataError, match="got the subset 'reed', expected one of create, macro, overall, read, read/qa_1doc"
        ):
            find_metric("reed:rouge_l", cells)

    def test_subsets_in_other_scripts_are_named_by_their_labels(self, cells: tuple[CellResult, ...]) -> None:
        metrics = {"overall": {"mrr": {}}, "topic/3f2a91c0": {"mrr": {}}}
        labelled = [replace(cells[0], metrics=metrics, dataset={"labels": {"3f2a91c0": "基金"}})]
        assert str(find_metric("基金:mrr", labelled)) == "mrr of topic/基金"
        with pytest.raises(DataError, match=r"expected one of overall, topic/基金, matrix/<topic>/<task>$"):
            find_metric("x:mrr", labelled)

    def test_unknown_matrix_field_lists_the_existing_matrix_fields(self, cells: tuple[CellResult, ...]) -> None:
        with_matrix = [replace(cells[0], metrics={"overall": {}, "matrix/funds/extractive": {}})]
        with pytest.raises(DataError, match=r"expected one of overall, matrix/<topic>/<task>$"):
            find_metric("x:rouge_l", with_matrix)
        with pytest.raises(DataError, match=r"expected one of matrix/funds/extractive$"):
            find_metric("matrix/x/y:rouge_l", with_matrix)

    def test_missing_metric_names_the_reason_if_all_cells_failed(self, cells: tuple[CellResult, ...]) -> None:
        failed = [replace(cell, metrics={}, status="FAILED", reason=f"reason {n}") for n, cell in enumerate(cells)]
        with pytest.raises(DataError, match=rf"^rouge_l: all {len(cells)} cells failed\. The first reason: reason 0$"):
            find_metric("rouge_l", failed)

    @pytest.mark.parametrize(("metric", "larger"), [("rouge_l", True), ("hallucination", False), ("length", None)])
    def test_find_metric_reads_the_direction_of_a_metric(
        self, cells: tuple[CellResult, ...], metric: str, larger: bool | None
    ) -> None:
        entry = {"value": 3.0, "n": 8, "n_excluded": {}}
        measured = [replace(cell, metrics={"overall": {**cell.metrics["overall"], "length": entry}}) for cell in cells]
        assert find_metric(metric, measured).larger_is_better is larger

    def test_metric_without_a_direction_is_refused(self) -> None:
        with pytest.raises(DataError, match="length: neither larger nor smaller is better"):
            SubsetMetric("overall", "length", None).direction()


class TestFindCell:
    @pytest.mark.parametrize(
        "text", ["b3b3b3b3b3b3", "b3b3b3b3b3b3"[:12], "retriever=dense,top_k=2", "top_k=2, retriever=dense"]
    )
    def test_cell_is_found_by_id_or_axis_values(self, cells: tuple[CellResult, ...], text: str) -> None:
        assert find_cell(text, cells) is cells[2]

    def test_cell_is_found_by_values_in_printed_or_hydra_syntax(self, cells: tuple[CellResult, ...]) -> None:
        axes = {"retriever.fusion.weights": [0.2, 1.0], "tokenizer.hmm": True}
        changed = [cells[0], replace(cells[1], axes={**cells[1].axes, **axes})]
        for weights in ("[0.2, 1.0]", "[0.2,1.0]"):
            assert find_cell(f"retriever.fusion.weights={weights}, top_k=8", changed) is changed[1]
        assert find_cell("tokenizer.hmm=true,top_k=8", changed) is changed[1]

    def test_ambiguous_cell_selection_lists_the_matches(self, cells: tuple[CellResult, ...]) -> None:
        with pytest.raises(DataError) as error:
            find_cell("top_k=8", cells)
        assert str(error.value).splitlines() == [
            "top_k=8: 2 cells match, expected one:",
            "  a2a2a2a2a2a2  retriever=bm25, top_k=8",
            "  b4b4b4b4b4b4  retriever=dense, top_k=8",
        ]

    @pytest.mark.parametrize("text", ["c", "retriever=hybrid", "no_axis=1"])
    def test_selection_without_a_match_lists_all_cells(self, cells: tuple[CellResult, ...], text: str) -> None:
        with pytest.raises(DataError, match=r"no cell matches, expected one of:(\n.*){4}$"):
            find_cell(text, cells)


class TestAxes:
    def test_constant_and_dependent_axes_do_not_vary(self, cells: tuple[CellResult, ...]) -> None:
        changed = [
            replace(
                cell, axes={**cell.axes, "reranker": f"of {cell.axes['retriever']}", "llm": "same", "embedder": None}
            )
            for cell in cells
        ]
        assert varying_axes(changed) == ["retriever", "top_k"]

    def test_cell_description_leaves_out_unused_axes(self, cells: tuple[CellResult, ...]) -> None:
        cell = replace(cells[0], axes={"retriever": "bm25", "embedder": None})
        assert describe(cell, ["retriever", "embedder"]) == "retriever=bm25"
