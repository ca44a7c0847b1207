"""The frames that `analysis.load` gives, of a tiny sweep whose numbers are known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis import Sweep
from analysis.forensics import verdicts
from components.errors import DataError
from components.statistics import PairedTest
from runner.results import FAILED
from runner.results.loaded_sweep import load
from tests.analysis import tiny_sweep
from tests.runner.sweeping import FEW_METRICS, SWEEP_ID, run_small

FIRST, SECOND, THIRD, FOURTH = tiny_sweep.CELLS
IDS = [cell.cell_id for cell in tiny_sweep.CELLS]
LABELS = {"dataset": {"name": "demo", "labels": {"funds": "基金 Funds", "extractive": "Extractive QA"}}}


@pytest.fixture(scope="module")
def tiny(sweep: Path) -> Sweep:
    return analysis.load(sweep)


@pytest.fixture
def labelled(tmp_path: Path) -> Sweep:
    return analysis.load(tiny_sweep.write(tmp_path / "labelled", [replace(FIRST, facts=LABELS), SECOND]))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """A cell of the demo with 12 samples: verdicts need texts that the tiny sweep does not have."""
    folder = tmp_path_factory.mktemp("failures")
    assert run_small(folder, (*FEW_METRICS, "top_k=1")) == 0
    return analysis.load(folder / "results" / SWEEP_ID)


class TestLoad:
    def test_load_accepts_a_folder_an_id_and_the_results_of_a_run(self, sweep: Path, tiny: Sweep) -> None:
        assert tiny == analysis.load("tiny", results_dir=sweep.parent) == analysis.load(load(sweep))
        assert repr(tiny) == f"<Sweep {sweep}: 4 cells, 0 of them failed, 0 unfinished>"
        assert tiny.folder == sweep

    def test_load_combines_several_sweeps(self, tmp_path: Path) -> None:
        folders = [tiny_sweep.write(tmp_path / "a", [FIRST]), tiny_sweep.write(tmp_path / "b", [FIRST, THIRD])]
        both = analysis.load(folders[0], load(folders[1]))
        assert set(both.cells["cell_id"]) == {FIRST.cell_id, THIRD.cell_id}
        assert both.samples(["score/rouge_l"])["score/rouge_l"].tolist() == [*FIRST.rouge_l, *THIRD.rouge_l]
        assert (
            analysis.load(both.results, folders[0]).results.folder_of(both.cell("retriever=dense")).parent == folders[1]
        )

    def test_sweep_accepts_the_names_of_the_command_line(self, tiny: Sweep) -> None:
        assert tiny.best() is tiny.best("rouge_l") is tiny.cell("best")
        assert tiny.metric("read:rouge_l").subset == "read"
        assert tiny.table("rouge_l")[0]["cell_id"] == IDS[0]
        assert tiny.failed == ()


class TestCells:
    def test_cells_frame_follows_the_order_of_the_leaderboard(self, tiny: Sweep) -> None:
        assert tiny.cells["cell_id"].tolist() == [cell.cell_id for cell in tiny.rank_cells()]
        assert tiny.cells["name"].tolist()[-1] == "retriever=bm25, top_k=2"
        assert tiny.cells["rouge_l"].tolist() == [cell.value("rouge_l") for cell in tiny.rank_cells()]
        assert sorted(tiny.cells["rouge_l n"].tolist()) == [7, 8, 8, 8]

    def test_cells_frame_has_axes_costs_and_latencies(self, tiny: Sweep) -> None:
        row = tiny.cells.set_index("cell_id").loc[SECOND.cell_id]
        assert (row["retriever"], row["top_k"], row["prompt_tokens"], row["n_samples"]) == ("bm25", 8, 6400, 8)
        assert (row["latency_p50_s"], row["one_time_s"], row["n_failed"]) == (2.0, 30.0, 0)
        kinds = tiny.cells.dtypes.astype(str)
        assert (kinds["top_k"], kinds["retriever"], kinds["rouge_l"]) == ("Int64", "string", "float64")

    def test_unknown_values_in_the_cells_frame_are_missing_not_zero(self, tmp_path: Path) -> None:
        failed = replace(SECOND, facts={"status": "FAILED", "reason": "no", "metrics": {}, "tokens": {"prompt": None}})
        closed_book = replace(FIRST, axes={"retriever": "closed_book"}, facts={"latency_s": {}, "tokens": {}})
        cells = analysis.load(tiny_sweep.write(tmp_path / "s", [failed, closed_book, THIRD, FOURTH])).cells
        assert cells["status"].tolist() == ["OK", "OK", "OK", "FAILED"]
        assert (cells["reason"][3], np.isnan(cells["rouge_l"][3])) == ("no", True)
        assert cells[["prompt_tokens", "latency_p50_s", "top_k"]].isna().to_numpy().tolist()[2:] == [
            [True, True, True],
            [True, False, False],
        ]

    def test_changes_of_a_base_are_named_by_the_changed_axes(self, tmp_path: Path) -> None:
        base = {"a": 1, "b": 1, "c": 1, "d": 1}
        changed = [base, {**base, "a": 2}, {**base, "b": 2}, {**base, "c": 2}, {**base, "d": [2, 3]}]
        cells = [replace(FIRST, cell_id=f"c{number}", axes=axes) for number, axes in enumerate(changed)]
        frame = analysis.load(tiny_sweep.write(tmp_path / "s", cells)).cells
        assert frame["name"].tolist() == ["the base", "a=2", "b=2", "c=2", "d=[2,3]"]
        assert frame["d"].tolist() == [1, 1, 1, 1, "[2,3]"]


class TestMetrics:
    def test_metrics_frame_has_a_row_per_value(self, tiny: Sweep) -> None:
        found = tiny.metrics.query("subset == 'read/qa_1doc' and metric == 'rouge_l'")
        assert found["cell_id"].tolist() == IDS
        assert found["value"].tolist() == [cell.value("rouge_l", "read/qa_1doc") for cell in tiny.results.cells]
        assert found[["n", "n_excluded"]].to_numpy().tolist() == [[4, 0], [4, 0], [4, 0], [3, 1]]
        n_values = sum(len(entries) for cell in tiny.results.cells for entries in cell.metrics.values())
        assert len(tiny.metrics) == n_values

    def test_metrics_frame_has_the_direction_of_each_metric(self, tiny: Sweep) -> None:
        by_metric = tiny.metrics.groupby("metric")["larger_is_better"].first()
        assert by_metric.to_dict() == {"bleu": True, "hallucination": False, "rouge_l": True}

    def test_metrics_frame_has_the_labels_of_topics(self, labelled: Sweep) -> None:
        topics = labelled.metrics.query("subset == 'topic/funds'")["topic"].unique().tolist()
        assert topics == ["基金 Funds", "funds"]
        assert labelled.metrics.query("subset == 'overall'")[["topic", "task"]].isna().all(axis=None)


class TestSamples:
    def test_samples_frame_has_only_the_requested_columns_and_cells(self, tiny: Sweep) -> None:
        frame = tiny.samples(["score/rouge_l"], cells="retriever=dense,top_k=2")
        assert list(frame.columns) == ["cell_id", "retriever", "top_k", "id", "score/rouge_l"]
        assert frame["score/rouge_l"].tolist() == THIRD.rouge_l
        assert frame["retriever"].unique().tolist() == ["dense"]

    def test_samples_cover_all_cells_by_default(self, tiny: Sweep) -> None:
        frame = tiny.samples()
        assert frame["cell_id"].tolist() == [cell_id for cell_id in IDS for _ in range(8)]
        assert {"question", "topic", "score/rouge_l", "score/bleu"} < set(frame.columns)
        assert frame["score/rouge_l"].isna().sum() == 1

    def test_samples_frame_reads_files_with_a_pandas_index(self, tmp_path: Path) -> None:
        folder = tiny_sweep.write(tmp_path / "rewritten", [FIRST])
        file = folder / FIRST.cell_id / "samples.parquet"
        pd.read_parquet(file).set_index("question").to_parquet(file)
        assert len(analysis.load(folder).samples(["question"])["question"]) == 8

    def test_samples_of_selected_cells_contain_each_cell_once(self, tiny: Sweep) -> None:
        frame = tiny.samples([], cells=["best:hallucination", "retriever=bm25,top_k=2", tiny.results.cells[2]])
        assert frame["cell_id"].unique().tolist() == [FIRST.cell_id, THIRD.cell_id]
        assert len(frame) == 16

    def test_samples_frame_has_the_labels_of_topics(self, labelled: Sweep) -> None:
        assert labelled.samples(["topic"])["topic"].dropna().tolist() == ["基金 Funds", "funds"]

    def test_samples_frame_fills_columns_that_a_cell_lacks(self, tmp_path: Path) -> None:
        folder = tiny_sweep.write(tmp_path / "s", [FIRST, SECOND])
        path = folder / SECOND.cell_id / "samples.parquet"
        pd.read_parquet(path).assign(note="seen").to_parquet(path)
        notes = analysis.load(folder).samples(["note"])["note"]
        assert notes.isna().tolist() == [True] * 8 + [False] * 8

    def test_samples_reject_an_unknown_column(self, tiny: Sweep) -> None:
        with pytest.raises(
            DataError,
            match=r"columns: got 'rouge_l', expected one of id, .*; did you mean score/rouge_l\?$",
        ):
            tiny.samples(["rouge_l"])
        with pytest.raises(DataError, match=r"columns: got the string 'id', expected a list of names, e\.g\. \['id'\]"):
            tiny.samples("id")

    def test_samples_report_a_missing_parquet_file(self, tmp_path: Path) -> None:
        folder = tiny_sweep.write(tmp_path / "s", [FIRST, SECOND])
        (folder / FIRST.cell_id / "samples.parquet").unlink()
        with pytest.raises(DataError, match=rf"{FIRST.cell_id}/samples\.parquet: cannot be read \(it does not exist\)"):
            analysis.load(folder).samples()

    def test_samples_report_that_all_cells_failed(self, tmp_path: Path) -> None:
        folder = tiny_sweep.write(tmp_path / "s", [replace(FIRST, facts={"status": FAILED, "reason": "no"})])
        (folder / FIRST.cell_id / "samples.parquet").unlink()
        with pytest.raises(DataError, match=r"the only cell failed\. The first reason: no$"):
            analysis.load(folder).samples()

    def test_samples_report_a_damaged_parquet_file(self, tmp_path: Path) -> None:
        folder = tiny_sweep.write(tmp_path / "s", [FIRST])
        (folder / FIRST.cell_id / "samples.parquet").write_bytes(b"no parquet")
        with pytest.raises(DataError, match=r"samples\.parquet: cannot be read"):
            analysis.load(folder).samples()


class TestFailures:
    def test_failures_are_the_samples_with_a_failure_class(self, small: Sweep) -> None:
        failures = small.failures()
        every = verdicts(small.results, small.best())
        failed = every[every["failure"] != ""]
        assert 0 < len(failures) < len(every) == 12
        for column in ("id", "failure", "stage", "outcome", "is_uncertain"):
            assert failures[column].tolist() == failed[column].tolist()
        questions = small.samples(["question"]).set_index("id")["question"]
        assert failures["question"].tolist() == questions.loc[failures["id"]].tolist()
        kinds = failures.dtypes.astype(str)
        assert (kinds["rank_needed"], kinds["failure"], kinds["is_uncertain"]) == ("Int64", "string", "boolean")

    def test_failures_reject_a_selection_without_cells(self, small: Sweep) -> None:
        with pytest.raises(DataError, match="no cell matches"):
            small.failures("retriever=dense")


class TestCompare:
    def test_sweep_compare_equals_the_compare_command(self, tiny: Sweep) -> None:
        found = tiny.compare("rouge_l", baseline="retriever=bm25,top_k=2")
        family = analysis.comparison.compare_cells(
            tiny.results, tiny.metric("rouge_l"), PairedTest(), baseline="retriever=bm25,top_k=2"
        )
        assert found["verdict"].tolist() == ["baseline", *(row.verdict for row in family.rows)]
        assert found["p_adjusted"].tolist()[1:] == [row.p_adjusted for row in family.rows]
        assert found["difference"].tolist()[1:] == [row.comparison.difference for row in family.rows]
        assert found["n"].tolist() == [7] * 4

    def test_comparison_lists_the_best_cell_first(self, tiny: Sweep) -> None:
        found = tiny.compare()
        assert (found["cell_id"][0], found["verdict"][0]) == (THIRD.cell_id, "best")
        assert found["n_left_out"].tolist()[1] == "1 answer_error"


class TestMatrix:
    @pytest.fixture
    def with_matrix(self, tmp_path: Path) -> Sweep:
        def entry(value: float, **more: float) -> dict[str, dict[str, object]]:
            return {"rouge_l": {"value": value, "n": 2, "n_excluded": {}, **more}}

        metrics = {
            "overall": entry(0.5),
            "topic/funds": entry(0.1),
            "topic/bonds": entry(0.2),
            "task/extractive": entry(0.3),
            "matrix/funds/extractive": entry(0.4, pooled=0.45),
        }
        return analysis.load(tiny_sweep.write(tmp_path / "m", [replace(FIRST, facts={**LABELS, "metrics": metrics})]))

    def test_matrix_has_labels_and_the_means_of_rows_and_columns(self, with_matrix: Sweep) -> None:
        matrix = with_matrix.matrix("rouge_l", FIRST.cell_id)
        assert (matrix.index.name, matrix.columns.name) == ("topic", "task")
        assert matrix.loc["基金 Funds"].tolist() == [0.4, 0.1]
        assert matrix["All"].tolist()[:2] == [0.2, 0.1]
        assert matrix.loc["All", "Extractive QA"] == 0.3
        assert np.isnan([matrix.loc["bonds", "Extractive QA"], matrix.loc["All", "All"]]).all()

    def test_matrix_shows_the_requested_field(self, with_matrix: Sweep) -> None:
        assert with_matrix.matrix(field="pooled").loc["基金 Funds", "Extractive QA"] == 0.45
        assert with_matrix.matrix(field="n").loc["bonds", "All"] == 2
        with pytest.raises(DataError, match="field: got 'mean', expected one of value, ci_low"):
            with_matrix.matrix(field="mean")

    def test_matrix_is_refused_without_topics_and_tasks(self, tiny: Sweep) -> None:
        with pytest.raises(DataError, match="its data have no tasks"):
            tiny.matrix("rouge_l")

    def test_matrix_of_a_subset_is_refused(self, tiny: Sweep) -> None:
        with pytest.raises(DataError, match=r"read:rouge_l: a matrix is over all samples. Use the metric alone"):
            tiny.matrix("read:rouge_l")


def test_loading_a_sweep_does_not_load_pandas(sweep: Path) -> None:
    """Every command of `python -m analysis` does it."""
    import subprocess
    import sys

    code = f"import sys, analysis; analysis.load({str(sweep)!r}); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
