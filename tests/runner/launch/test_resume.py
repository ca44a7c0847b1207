"""After a kill, an interrupt, damage or failed answers, the same command resumes and gives the same numbers."""

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from components.datasets.demo import Demo
from components.llms.scripted import Scripted
from components.records import Answer, Request
from runner import store as store_command
from runner.engine import environment
from runner.engine.store import Store
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_INTERRUPTED, EXIT_OK
from runner.results import read_cells, read_sweep
from tests.runner.sweeping import (
    FEW_METRICS,
    QUIET,
    RANKING_ONLY,
    SCRIPTED,
    SMALL,
    cells_in,
    end_group,
    entries_by_kind,
    flip_a_byte,
    metrics_text,
    only_sweep,
    run_command,
    run_small,
    start_command,
    store_of,
    sweep_in,
    sweeps,
    wait_until,
)

Moment = Callable[[Path], bool]


def n_manifests(folder: Path) -> int:
    return len(list((folder / "results" / "store" / "entries").glob("*/*/*/manifest.json")))


def replies(folder: Path) -> list[dict[str, Any]]:
    """The whole lines of all files of replies."""
    files = (folder / "results" / "store" / "replies").glob("*/*.jsonl")
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines(keepends=True)]
    found = [json.loads(line) for line in lines if line.endswith("\n") and line.strip()]
    return [{name: value for name, value in reply.items() if name != "crc32"} for reply in found]


def after_stages(n: int) -> Moment:
    return lambda folder: n_manifests(folder) >= n


def after_answers(n: int) -> Moment:
    return lambda folder: len(replies(folder)) >= n


def after_a_cell(folder: Path) -> bool:
    return any(folder.glob("results/*/*/cell.json"))


def creation_times(store: Store) -> dict[str, float]:
    return {entry.manifest.key: entry.manifest.created for entry in store.entries()}


def stop_at(
    folder: Path, moment: Moment, with_signal: signal.Signals, *arguments: str, n_times: int = 1
) -> tuple[int, str]:
    """Starts the sweep and sends a signal when the moment has come, perhaps several times in a row; returns the exit
    code and the output.

    Answers take their time here, so that the moment does not pass; that changes neither keys nor results.
    """
    process = start_command(folder, "-m", *SCRIPTED, "llm.delay_s=0.1", *arguments)
    wait_until(lambda: moment(folder), process)
    for _ in range(n_times):
        end_group(process, with_signal)
        time.sleep(0.02)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output + errors


class TestKilled:
    @pytest.mark.parametrize(
        "moment",
        [after_stages(1), after_stages(8), after_answers(3), after_a_cell],
        ids=["after_the_data", "after_8_stages", "after_3_answers", "after_a_cell"],
    )
    def test_killed_sweep_resumes_to_the_same_bytes(
        self, moment: Moment, tmp_path: Path, uninterrupted_run: Path
    ) -> None:
        code, _ = stop_at(tmp_path, moment, signal.SIGKILL)
        assert code == -signal.SIGKILL
        created = creation_times(store_of(tmp_path))
        n_answers = len(replies(tmp_path))
        n_prompts = len(entries_by_kind(store_of(tmp_path)).get("prompts", []))

        again = run_command(tmp_path, "-m", *SCRIPTED)
        assert again.returncode == 0, again.stderr
        now = creation_times(store_of(tmp_path))
        assert {key: now[key] for key in created} == created
        last = sweeps(tmp_path)[-1]
        assert len(replies(tmp_path)) == len({reply["request_id"] for reply in replies(tmp_path)}) == 24
        assert read_sweep(last).plan["n_requests"] == n_planned(n_prompts, n_answers)
        assert metrics_text(last) == metrics_text(only_sweep(uninterrupted_run))
        assert list((tmp_path / "results" / "store" / "workspaces").iterdir()) == []


def n_planned(n_prompts: int, n_replies: int) -> int:
    """Return the requests in the plan. It subtracts the cached replies of cells whose prompts are cached."""
    return 24 - min(n_replies, 12 * n_prompts)


class TestInterrupted:
    @pytest.mark.parametrize(("n_workers", "n_times"), [(1, 1), (2, 20)])
    def test_interrupted_sweep_stops_cleanly_and_resumes(
        self, n_workers: int, n_times: int, tmp_path: Path, uninterrupted_run: Path
    ) -> None:
        """The number of presses of Ctrl-C does not matter."""
        workers = f"run.workers={n_workers}"
        code, output = stop_at(tmp_path, after_answers(3), signal.SIGINT, workers, n_times=n_times)
        assert code == EXIT_INTERRUPTED
        assert "Interrupted: 0 of 2 cells are done" in output
        assert "Traceback" not in output
        assert read_sweep(only_sweep(tmp_path)).status == "INTERRUPTED"
        again = run_command(tmp_path, "-m", *SCRIPTED, workers)
        assert again.returncode == 0, again.stderr
        assert metrics_text(sweeps(tmp_path)[-1]) == metrics_text(only_sweep(uninterrupted_run))

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
    def test_termination_signal_ends_the_sweep(self, name: str, tmp_path: Path) -> None:
        """Batch systems, containers and closed terminals send such a signal."""
        process = start_command(tmp_path, "-m", *SCRIPTED, "llm.delay_s=0.1", "run.workers=2")
        wait_until(lambda: after_answers(3)(tmp_path), process)
        process.send_signal(getattr(signal, name))
        output, errors = process.communicate(timeout=60)
        assert process.returncode == EXIT_INTERRUPTED, errors
        assert "Interrupted: 0 of 2 cells are done" in output
        assert "Traceback" not in errors
        assert read_sweep(only_sweep(tmp_path)).status == "INTERRUPTED"

    def test_sweep_interrupted_before_the_first_stage_can_resume(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def interrupt(_: Demo) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Demo, "load", interrupt)
        assert run_small(tmp_path) == EXIT_INTERRUPTED
        assert "Interrupted" in capsys.readouterr().err
        monkeypatch.undo()
        assert run_small(tmp_path) == EXIT_OK


class TestReplies:
    OVERRIDES = (*FEW_METRICS, "llm=scripted")

    def answers_of(self, folder: Path, sweep_id: str) -> dict[str, str]:
        (cell,) = cells_in(folder, sweep_id)
        table = pq.read_table(folder / "results" / sweep_id / cell.cell_id / "samples.parquet")
        return dict(zip(table["id"].to_pylist(), table["answer"].to_pylist(), strict=True))

    def test_stored_replies_are_used_instead_of_new_requests(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, self.OVERRIDES) == EXIT_OK
        store = store_of(tmp_path)
        before = self.answers_of(tmp_path, "a-sweep")
        for kind in ("answers", "result"):
            for entry in entries_by_kind(store)[kind]:
                store.discard(entry)
        (path,) = (store.root / "replies").glob("*/*.jsonl")
        lines = [json.dumps({**reply, "text": f"kept {reply['text']}"}) for reply in replies(tmp_path)]
        path.write_text("\n".join([*lines[:2], lines[2][:20]]), encoding="utf-8")
        assert run_small(tmp_path, self.OVERRIDES, sweep_id="again") == EXIT_OK
        assert sweep_in(tmp_path, "again").plan["n_requests"] == 10
        after = self.answers_of(tmp_path, "again")
        reused = [an_id for an_id in before if after[an_id] == f"kept {before[an_id]}"]
        assert reused == list(before)[:2]
        assert all(after[an_id] == before[an_id] for an_id in list(before)[2:])

    def test_stored_replies_are_reused_for_another_sample_limit(self, tmp_path: Path) -> None:
        """Neither a smaller nor a larger limit requests a stored answer."""
        assert run_small(tmp_path, (*self.OVERRIDES, "dataset.limit=6", "retriever=closed_book")) == EXIT_OK
        assert len(replies(tmp_path)) == 6
        assert run_small(tmp_path, (*self.OVERRIDES, "retriever=closed_book"), sweep_id="more") == EXIT_OK
        assert len(replies(tmp_path)) == 12 + n_not_among_the_first(6)


def n_not_among_the_first(limit: int) -> int:
    """Return the number of samples that a smaller limit draws and a larger one does not."""
    few, many = ({sample.id for sample in Demo(limit=n).load().samples} for n in (limit, 12))
    return len(few - many)


FAILING = "青砚"


class TestFailedAnswers:
    FAILS = (*FEW_METRICS, "llm=scripted", f"llm.error_on='{FAILING}'")

    @pytest.fixture
    def n_failing(self) -> int:
        n = sum(FAILING in sample.question for sample in Demo(limit=12).load().samples)
        assert 0 < n < 12
        return n

    def test_failed_answers_fail_only_their_cell(self, tmp_path: Path, n_failing: int) -> None:
        assert run_small(tmp_path, self.FAILS, (*FEW_METRICS, "llm=scripted")) == EXIT_CELL_FAILED
        failed, fine = cells_in(tmp_path)
        assert (failed.status, fine.status, sweep_in(tmp_path).status) == ("FAILED", "OK", "FAILED")
        assert failed.reason == (
            f"{n_failing} of 12 answers failed, more than run.max_failure_rate=0 allows "
            f"(most often: the script fails on '{FAILING}')"
        )

    def test_failed_answers_are_counted_and_never_scored(self, tmp_path: Path, n_failing: int) -> None:
        run_small(tmp_path, self.FAILS)
        (cell,) = cells_in(tmp_path)
        assert cell.counts == {"error": n_failing, "ok": 12 - n_failing}
        assert cell.metrics["overall"]["rouge_l"]["n_excluded"]["answer_error"] == n_failing
        rows = pq.read_table(tmp_path / "results" / "a-sweep" / cell.cell_id / "samples.parquet").to_pylist()
        failed = [row for row in rows if row["state"] == "error"]
        assert len(failed) == n_failing
        assert all(row["answer"] == "" and row["error"] and row["score/rouge_l"] is None for row in failed)

    def test_only_failed_answers_are_requested_again(
        self, tmp_path: Path, n_failing: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []
        generate = Scripted.generate

        def noted(llm: Scripted, requests: Sequence[Request]) -> Iterator[Answer]:
            asked.extend(request.sample.question for request in requests)
            return generate(llm, requests)

        monkeypatch.setattr(Scripted, "generate", noted)
        fails = (*self.FAILS, "run.workers=1")  # one process, which records the calls
        run_small(tmp_path, fails)
        assert len(asked) == 12
        assert len(replies(tmp_path)) == 12 - n_failing, "failed ones are not cached"
        run_small(tmp_path, fails, sweep_id="again")
        assert asked[12:] == [question for question in asked[:12] if FAILING in question]
        assert len(asked) == 12 + n_failing
        assert cells_in(tmp_path)[0].metrics == cells_in(tmp_path, "again")[0].metrics

    def test_plan_counts_failed_answers_as_requests(self, tmp_path: Path, n_failing: int) -> None:
        run_small(tmp_path, self.FAILS)
        run_small(tmp_path, self.FAILS, sweep_id="again")
        assert sweep_in(tmp_path, "again").plan["n_requests"] == n_failing

    def test_max_failure_rate_decides_whether_a_cell_fails(self, tmp_path: Path, n_failing: int) -> None:
        allowed = f"run.max_failure_rate={n_failing / 12 + 0.001:.3f}"
        assert run_small(tmp_path, (*self.FAILS, allowed)) == EXIT_OK
        assert cells_in(tmp_path)[0].status == "OK"
        too_few = f"run.max_failure_rate={n_failing / 12 - 0.001:.3f}"
        assert run_small(tmp_path, (*self.FAILS, too_few), sweep_id="again") == EXIT_CELL_FAILED


class TestPrunedStore:
    def test_prune_during_a_sweep_removes_no_needed_result(self, tmp_path: Path) -> None:
        process = start_command(tmp_path, "-m", *SCRIPTED, "llm.delay_s=0.1", "run.workers=2")
        wait_until(lambda: after_answers(3)(tmp_path), process)
        created = creation_times(store_of(tmp_path))
        store_dir = ["--store-dir", str(tmp_path / "results" / "store")]
        for stage in ([], ["--stage", "replies"]):
            assert store_command.main([*store_dir, "prune", "--older-than-days", "0", *stage]) == 0
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, output + errors
        assert len(replies(tmp_path)) == 24
        now = creation_times(store_of(tmp_path))
        assert {key: now[key] for key in created} == created


class TestDamagedStore:
    @pytest.mark.parametrize("kind", ["result", "data", "chunks"])
    def test_damaged_results_are_reported_and_computed_again(self, kind: str, tmp_path: Path) -> None:
        overrides: tuple[str, ...] = RANKING_ONLY
        assert run_small(tmp_path, overrides) == EXIT_OK
        (entry,) = entries_by_kind(store_of(tmp_path))[kind]
        for name in entry.manifest.files:
            flip_a_byte(entry.folder / name)
        if kind == "chunks":  # otherwise the cached result makes the chunks unneeded
            overrides = (*overrides, "top_k=4")
        again = run_command(tmp_path, *SMALL, *QUIET, *overrides)
        assert again.returncode == 0, again.stderr
        assert f"{kind} {entry.manifest.key[:12]}" in again.stdout + again.stderr
        mended = store_of(tmp_path).find(kind, entry.manifest.key)
        assert mended is not None
        assert mended.damages() == []
        if kind != "chunks":
            (cell,) = read_cells(sweeps(tmp_path)[0])
            assert cell.metrics == cells_in(tmp_path)[0].metrics


def test_cells_without_any_value_are_not_failures(tmp_path: Path) -> None:
    """A closed book has no ranking to score: all its metrics here are not applicable."""
    assert run_small(tmp_path, ("retriever=closed_book", "metrics=retrieval")) == EXIT_OK
    (cell,) = list(read_cells(tmp_path / "results" / "a-sweep"))
    assert {entry["value"] for entry in cell.metrics["overall"].values()} == {None}


def test_closed_book_samples_have_the_common_columns(tmp_path: Path) -> None:
    assert run_small(tmp_path, ("retriever=closed_book",), ("retriever=bm25",)) == EXIT_OK
    paths = sorted((tmp_path / "results").glob("*/*/samples.parquet"))
    schemas = [pq.read_schema(path) for path in paths]
    assert len(schemas) == 2
    assert schemas[0].field("retrieved").type == schemas[1].field("retrieved").type


def test_cell_versions_are_those_at_computation_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_small(tmp_path, ("top_k=2", "run.workers=1")) == EXIT_OK
    monkeypatch.setattr(environment, "imported_versions", lambda: {"numpy": "99.0"})
    assert run_small(tmp_path, ("top_k=2", "run.workers=1"), ("top_k=3", "run.workers=1")) == EXIT_OK
    cached, half_new = cells_in(tmp_path)
    assert cached.versions["numpy"] == np.__version__
    assert half_new.versions["numpy"] == f"{np.__version__} and 99.0"
