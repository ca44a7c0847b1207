"""`python -m runner`: one cell through the command line, and the files that it leaves."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from components.secrets.mask import mask_text
from runner.launch.hydra_state import detect_mode_from_flags, isolate_hydra
from runner.launch.run_command import move_multirun_first
from runner.launch.sweep import EXIT_OK, command_line
from runner.output import terminal
from runner.results import read_cells
from tests.runner.sweeping import QUIET, RANKING_ONLY, REPOSITORY, SMALL, cells_in, only_sweep, run_command, run_small

METRICS = {
    "rouge_l", "bleu", "f1", "em", "mrr", "map@10", "ndcg@5", "ndcg@10", "recall@5", "recall@10", "precision@5",
    "precision@10", "mrr_per_document", "passage_coverage", "context_tokens", "context_tokens_dropped",
}  # fmt: skip


def test_command_line_with_an_empty_value_is_not_masked() -> None:
    arguments = ["-m", "llm.api_key_env=", "run.workers=1", "retriever=bm25,hybrid", "dataset.root=/a b", "x="]
    command = command_line(arguments)
    assert mask_text(command) == command
    assert shlex.split(command) == ["python", "-m", "runner", *arguments]


@pytest.fixture
def sweep(single_run: Path) -> dict[str, Any]:
    return read(only_sweep(single_run) / "sweep.json")


@pytest.fixture
def folder(single_run: Path, sweep: dict[str, Any]) -> Path:
    (cell,) = sweep["cells"]
    return only_sweep(single_run) / str(cell["cell_id"])


@pytest.fixture
def cell(folder: Path) -> dict[str, Any]:
    return read(folder / "cell.json")


@pytest.fixture
def rows(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(folder / "samples.parquet").to_pylist()
    return rows


def read(path: Path) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return raw


class TestTerminal:
    def test_terminal_shows_plan_leaderboard_and_results_folder(self, single_run: Path) -> None:
        output = (single_run / "output.txt").read_text(encoding="utf-8")
        assert "Plan: 1 cell, no request to a language model" in output
        assert "demo: 112 documents, 12 samples" in output
        assert "done in 0.0 s" not in output
        assert "Leaderboard by ndcg@10 (larger is better): all 12 samples" in output
        assert re.search(r"^elapsed:  0:\d\d:\d\d for 1 cell$", output, re.MULTILINE)
        assert f"results:  {only_sweep(single_run).relative_to(single_run)}" in output

    def test_progress_output_can_be_switched_off(self, grid_run: Path) -> None:
        assert "done in" not in (grid_run / "output.txt").read_text(encoding="utf-8")


class TestSweepFile:
    def test_sweep_file_contains_command_status_and_times(self, single_run: Path, sweep: dict[str, Any]) -> None:
        assert sweep["schema_version"] == 2
        assert sweep["sweep_id"] == only_sweep(single_run).name
        assert (sweep["name"], sweep["status"]) == ("rag-grid", "OK")
        assert sweep["command"] == f"python -m runner {' '.join(SMALL)} tracking=none"
        assert sweep["started"] <= sweep["finished"]

    def test_sweep_file_lists_the_cell_and_the_plan(self, sweep: dict[str, Any]) -> None:
        (cell,) = sweep["cells"]
        assert (cell["status"], cell["reason"], cell["same_as"]) == ("OK", "", [])
        assert (sweep["plan"]["n_cells"], sweep["plan"]["n_requested"], sweep["plan"]["n_requests"]) == (1, 1, 0)
        assert sweep["plan"]["stages"]["baseline_answers"] == {"n_requested": 1, "n_unique": 1, "n_cached": 0}


class TestCellFile:
    def test_cell_file_names_the_experiment(self, folder: Path, cell: dict[str, Any]) -> None:
        assert (cell["schema_version"], cell["cell_id"], cell["status"]) == (2, folder.name, "OK")
        expected = {"retriever": "bm25", "embedder": None, "chunk": "sentence", "chunk.size": 128, "top_k": 5}
        assert {name: cell["axes"][name] for name in expected} == expected
        assert cell["config"]["retriever"]["depth"] == 100
        assert "hydra" not in cell["config"]

    def test_cell_file_names_the_data(self, cell: dict[str, Any]) -> None:
        assert cell["dataset"]["name"] == "demo"
        assert len(cell["dataset"]["key"]) == 64
        assert cell["dataset"]["n_samples"] == 12

    def test_cell_file_has_count_and_interval_per_subset_and_metric(self, cell: dict[str, Any]) -> None:
        assert {"overall", "create", "read/qa_1doc", "finance"} <= set(cell["metrics"])
        assert any(subset.startswith("matrix/") for subset in cell["metrics"])
        assert set(cell["metrics"]["overall"]) >= METRICS
        for subset, values in cell["metrics"].items():
            for entry in values.values():
                more = {"n_subsets"} if subset == "macro" else set()
                if subset.startswith("matrix/"):
                    more = {"pooled", "pooled_low", "pooled_high"}
                assert set(entry) == {"value", "n", "n_excluded", "ci_low", "ci_high", "n_clusters", "method"} | more
                assert (entry["value"] is None) == (entry["n"] == 0)

    def test_samples_are_counted_or_excluded_for_every_metric(self, cell: dict[str, Any]) -> None:
        for entry in cell["metrics"]["overall"].values():
            assert entry["n"] + sum(entry["n_excluded"].values()) == 12

    def test_cell_file_has_counts_costs_and_facts(self, cell: dict[str, Any]) -> None:
        assert sum(cell["counts"].values()) == 12
        assert (
            cell["seconds"].keys()
            == cell["reused"].keys()
            >= {"data", "chunks", "sparse_hits", "baseline_answers", "result"}
        )
        assert not any(cell["reused"].values())
        assert {"python", "numpy", "rjieba"} <= set(cell["versions"])
        assert cell["host"]["n_cores"] >= 1


class TestSampleTable:
    def test_sample_table_has_a_row_per_sample_with_all_columns(self, rows: list[dict[str, Any]]) -> None:
        assert len({row["id"] for row in rows}) == len(rows) == 12
        expected = {
            "id", "subset", "kind", "topic", "task", "question", "query", "history", "references", "gold", "retrieved",
            "prompt", "answer", "state", "error", "n_prompt_tokens", "n_completion_tokens", "latency_s",
        }  # fmt: skip
        assert expected <= set(rows[0])
        assert {f"score/{name}" for name in METRICS} <= set(rows[0])
        assert {f"score_state/{name}" for name in METRICS} <= set(rows[0])

    def test_sample_hits_are_ranked_and_mark_hits_in_the_prompt(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            hits = row["retrieved"]
            assert set(hits[0]) == {
                "document_id", "start", "end", "score", "in_context", "rank", "gold_grade", "rank_dense", "rank_sparse",
                "rank_before_rerank",
            }  # fmt: skip
            assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))
            assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
            assert [hit["in_context"] for hit in hits] == [True] * 5 + [False] * (len(hits) - 5)

    def test_sample_scores_average_to_the_cell_metrics(self, rows: list[dict[str, Any]], cell: dict[str, Any]) -> None:
        for name in ("rouge_l", "ndcg@10", "context_tokens"):
            values = [row[f"score/{name}"] for row in rows if row[f"score_state/{name}"] == "value"]
            assert sum(values) / len(values) == pytest.approx(cell["metrics"]["overall"][name]["value"])

    def test_matrices_are_written_next_to_the_sample_table(self, folder: Path) -> None:
        for name in METRICS:
            assert (folder / f"matrix_{name}.csv").read_text(encoding="utf-8").startswith("topic,")

    def test_leading_leaderboard_metrics_are_drawn(self, folder: Path) -> None:
        pictures = {path.name: path.read_bytes() for path in folder.glob("*.svg")}
        assert set(pictures) == {f"matrix_{name}.svg" for name in ("rouge_l", "f1", "bleu", "ndcg@10", "mrr")}
        assert all(picture.startswith(b"<svg ") for picture in pictures.values())


class TestExitCodes:
    def test_plan_only_exits_with_0_and_runs_no_cell(self, tmp_path: Path) -> None:
        done = run_command(tmp_path, *SMALL, *QUIET, "run.plan_only=true")
        assert done.returncode == 0
        assert "Plan: 1 cell" in done.stdout
        assert "Leaderboard" not in done.stdout
        assert list(tmp_path.glob("results/*/sweep.json")) == []
        assert {path.name for path in (tmp_path / "results" / "store" / "entries").iterdir()} == {"data", "partition"}

    def test_failed_cell_exits_with_1_and_prints_the_reason(self, tmp_path: Path) -> None:
        """An English tokenizer finds almost no words in Chinese news, and BM25 rejects that."""
        done = run_command(tmp_path, "-m", *SMALL, *RANKING_ONLY, *QUIET, "tokenizer=english", "top_k=2,4")
        assert done.returncode == 1
        assert "FAILED" in done.stdout
        cells = list(read_cells(only_sweep(tmp_path)))
        assert [(cell.status, cell.metrics) for cell in cells] == [("FAILED", {})] * 2
        for cell in cells:
            assert cell.reason in done.stdout
            assert cell.reason.startswith("sparse hits: bm25: 8 of 12 queries have no hit")
            trace = (only_sweep(tmp_path) / cell.cell_id / "error.txt").read_text(encoding="utf-8")
            assert trace.startswith("Traceback")

    def test_configuration_error_exits_with_2(self, tmp_path: Path) -> None:
        done = run_command(tmp_path, *SMALL, *QUIET, "top_k=0")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("1 error in the configuration:\n  - top_k: got 0")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["a=1", "-m", "b=2"], ["-m", "a=1", "b=2"]),
        (["a=1", "--multirun"], ["--multirun", "a=1"]),
        (["-m", "a=1", "-m"], ["-m", "a=1"]),
        (["a=1"], ["a=1"]),
    ],
)
def test_multirun_flag_may_be_at_any_position(arguments: list[str], expected: list[str]) -> None:
    assert move_multirun_first(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "is_looked_for"),
    [
        (["top_k=2"], False),
        (["-m", "top_k=2"], False),
        (["--multirun", "--config-dir", "mine"], False),
        (["hydra.mode=MULTIRUN"], True),
        (["hydra.searchpath=[file://mine]"], True),
        (["--config-dir=mine"], True),
        (["-cd", "mine"], True),
    ],
)
def test_hydra_mode_is_looked_up_only_if_it_can_be_set(arguments: list[str], is_looked_for: bool) -> None:
    with detect_mode_from_flags(arguments), isolate_hydra() as hydra:
        found = hydra.get_mode("config", ["hydra.mode=MULTIRUN"])
    assert (found is not None) == is_looked_for


def test_multirun_mode_of_hydra_runs_a_sweep(tmp_path: Path) -> None:
    done = run_command(tmp_path, *SMALL, *QUIET, "hydra.mode=MULTIRUN", "top_k=2,4", "run.plan_only=true")
    assert done.returncode == 0, done.stderr
    assert "2 cells" in done.stdout


def test_early_closed_help_output_is_not_an_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m runner --help | head -1"
    done = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("usage: python -m runner ")
    assert done.stderr == ""


def test_leaderboard_that_cannot_be_shown_fails_no_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no such width")

    monkeypatch.setattr(terminal, "show_leaderboard", fail)
    assert run_small(tmp_path, (*RANKING_ONLY, "run.workers=1")) == EXIT_OK
    printed = capsys.readouterr()
    assert "the results are complete, but could not be displayed: ValueError: no such width" in printed.err
    assert "results:" in printed.out
    assert [cell.status for cell in cells_in(tmp_path)] == ["OK"]
