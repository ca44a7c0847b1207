import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.records import Answer, AnswerState
from runner.engine.store import Store, StoredResult, manifests, replies, stored_result
from runner.engine.store.heartbeat import kernel
from runner.engine.store.stored_blocks import write_block
from runner.launch import sweep
from runner.pipeline.planned_cells import SweepPlan, plan_sweep
from runner.results import read_cells
from runner.store import main
from tests.runner.sweeping import (
    QUIET,
    RANKING_ONLY,
    SMALL,
    cells_in,
    flip_a_byte,
    run_command,
    run_small,
    start_command,
    wait_until,
)
from tests.runner.sweeping import sweeps as sweep_folders


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", run_id="a run")


@pytest.fixture
def chunks(store: Store) -> StoredResult:
    return store.write("chunks", "aa" * 32, {"data": b"x" * 2048}, seconds=1.25, made_from={})


@pytest.fixture
def answers(store: Store) -> StoredResult:
    return store.write("answers", "bb" * 32, {"data": b"y"}, seconds=2.0, made_from={}, partial=True)


def run(store: Store, *arguments: str) -> int:
    return main(["--store-dir", str(store.root), *arguments])


class TestLs:
    def test_ls_lists_results_by_stage(
        self, store: Store, chunks: StoredResult, answers: StoredResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store.replies("cc" * 32).add("1", Answer("1", AnswerState.OK, "so"))
        store.workspace("dd" * 32)
        assert run(store, "ls") == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert ["answers", "1", "1", "1", "B", "2.0"] in lines
        assert ["chunks", "1", "0", "2.0", "KiB", "1.2"] in lines
        assert "2 results, replies in 1 folder (one per model and purpose)".split() in lines
        assert "1 unfinished stage, to be resumed".split() in lines

    def test_ls_of_an_empty_store_prints_zero_results(self, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(store, "ls") == 0
        assert "0 results" in capsys.readouterr().out


def refusing(closed: Path, read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reader of files that may not read one of them."""

    def checked(place: Path, *others: Any) -> Any:
        if place == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(place))
        return read(place, *others)

    return checked


class TestVerify:
    def test_verify_of_an_intact_store_finds_no_damage(
        self, store: Store, chunks: StoredResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(store, "verify") == 0
        assert "compared 1 result and all replies with their checksums: 0 damaged" in capsys.readouterr().out

    def test_verify_names_damaged_files(
        self, store: Store, chunks: StoredResult, answers: StoredResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        flip_a_byte(chunks.folder / "data")
        assert run(store, "verify") == 1
        output = capsys.readouterr().out
        assert "damaged: chunks aaaaaaaaaaaa: data does not match its checksum" in output
        compared = "compared 2 results and all replies with their checksums"
        assert f"{compared}: 1 damaged; python -m runner.store verify --delete removes them, and" in output
        assert chunks.folder.exists()

    def test_verify_names_folders_without_manifest(
        self, store: Store, chunks: StoredResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (chunks.folder / "manifest.json").unlink()
        assert run(store, "verify") == 1
        assert f"no readable manifest of this result: {chunks.folder}" in capsys.readouterr().out

    def test_verify_counts_damaged_and_incomplete_replies(
        self, store: Store, capsys: pytest.CaptureFixture[str]
    ) -> None:
        replies = store.replies("ff" * 32)
        replies.add_all([Answer(str(i), AnswerState.OK, f"text {i}") for i in range(4)])
        (path,) = (store.root / "replies" / ("ff" * 32)).glob("*.jsonl")
        lines = path.read_bytes().replace(b"text 1", b"texx 1")[:-7]
        path.write_bytes(lines)
        assert run(store, "verify") == 1
        output = "".join(capsys.readouterr().out.splitlines())
        assert f"damaged: {path}: 2 replies are incomplete or damaged" in output
        assert path.read_bytes() == lines
        assert run(store, "verify", "--delete") == 0
        assert run(store, "verify") == 0
        assert "0 damaged" in capsys.readouterr().out
        assert set(Store(store.root, run_id="x").replies("ff" * 32).get_all("0123")) == {"0", "2"}

    def test_verify_counts_closed_replies_and_checks_the_others(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        paths = {}
        for purpose in ("ee" * 32, "ff" * 32):
            store.replies(purpose).add_all([Answer("a", AnswerState.OK, "text 1")])
            (paths[purpose],) = (store.root / "replies" / purpose).glob("*.jsonl")
        damaged, closed = paths["ff" * 32], paths["ee" * 32]
        damaged.write_bytes(damaged.read_bytes().replace(b"text 1", b"texx 1"))

        monkeypatch.setattr(replies, "open_regular", refusing(closed, replies.open_regular))
        assert run(store, "verify", "--delete") == 2
        output = capsys.readouterr().out
        assert f"cannot be read: {closed}: Permission denied" in output
        assert f"damaged: {damaged}: 1 reply is" in output
        assert "1 damaged (removed" in output
        assert "1 could not be read" in output
        assert closed.exists()

    @pytest.mark.parametrize("name", ["manifest.json", "data"])
    def test_files_that_only_their_owner_may_read_are_no_damage(
        self,
        name: str,
        store: Store,
        chunks: StoredResult,
        answers: StoredResult,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        closed = chunks.folder / name
        flip_a_byte(answers.folder / "data")

        for module, reader in ((manifests, "read_small"), (stored_result, "checksum")):
            monkeypatch.setattr(module, reader, refusing(closed, getattr(module, reader)))
        access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: path != closed and access(path, mode))
        assert run(store, "verify") == 1
        assert run(store, "verify", "--delete") == 2
        output = capsys.readouterr().out
        assert f"cannot be read: {chunks.folder}: Permission denied" in output
        assert "1 damaged (removed; they are computed again when needed)" in output
        assert f"1 could not be read. Make it accessible (chmod -R g+rwX {store.root} by the user" in output
        assert (chunks.folder.exists(), answers.folder.exists()) == (True, False)

    def test_verify_ignores_files_beside_the_folders_of_replies(
        self, store: Store, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (store.root / "replies").mkdir(exist_ok=True)
        (store.root / "replies" / ".DS_Store").write_bytes(b"x")
        (store.root / "replies" / "@eaDir").mkdir()
        assert run(store, "verify") == 0
        assert run(store, "ls") == 0
        assert "0 results, replies in 0 folders (one per model and purpose)" in capsys.readouterr().out

    def test_verify_checks_workspaces_and_pair_scores(self, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
        folders = (store.workspace("dd" * 32), store.root / "pair_scores" / ("ee" * 32))
        sound, damaged = ([write_block(folder, name, np.ones(9)) for folder in folders] for name in ("0-9", "9-18"))
        (folders[0] / "vectors.npy").touch()  # not a block: the array into which the blocks are joined
        for block in damaged:
            flip_a_byte(block)
        assert run(store, "verify") == 1
        output = capsys.readouterr().out
        assert all(f"damaged: {block} does not match its checksum" in output for block in damaged)
        assert "0 results and all replies with their checksums: 2 damaged" in output
        assert run(store, "verify", "--delete") == 0
        assert [path.exists() for path in (*sound, *damaged)] == [True, True, False, False]

    def test_verify_delete_removes_only_damaged_results(
        self, store: Store, chunks: StoredResult, answers: StoredResult
    ) -> None:
        without_manifest = store.write("terms", "cc" * 32, {"data": b"z"}, seconds=0, made_from={}).folder
        (without_manifest / "manifest.json").unlink()
        flip_a_byte(chunks.folder / "data")
        assert run(store, "verify", "--delete") == 0
        assert [path.exists() for path in (chunks.folder, without_manifest, answers.folder)] == [False, False, True]
        assert run(store, "verify") == 0


class TestPrune:
    def test_prune_keeps_recent_results(self, store: Store, chunks: StoredResult) -> None:
        assert run(store, "prune") == 0
        assert chunks.folder.exists()

    def test_prune_older_than_zero_days_removes_everything(
        self, store: Store, chunks: StoredResult, answers: StoredResult
    ) -> None:
        assert run(store, "prune", "--older-than-days", "0") == 0
        assert list(store.entries()) == []

    def test_prune_treats_a_result_dated_in_the_future_as_new(
        self, store: Store, chunks: StoredResult, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        past = chunks.manifest.created - 1_000
        monkeypatch.setattr("runner.store.time.time", lambda: past)
        assert run(store, "prune", "--older-than-days", "1") == 0
        assert len(list(store.entries())) == 1
        assert run(store, "prune", "--older-than-days", "0") == 0
        assert list(store.entries()) == []

    def test_prune_may_be_limited_to_one_stage(self, store: Store, chunks: StoredResult, answers: StoredResult) -> None:
        assert run(store, "prune", "--older-than-days", "0", "--stage", "chunks") == 0
        assert [entry.manifest.kind for entry in store.entries()] == ["answers"]

    @pytest.mark.parametrize(
        ("stage", "left"),
        [
            ("", ["replies"]),
            ("chunks", ["replies", "workspaces", "pair_scores"]),
            ("answers", ["replies", "workspaces", "pair_scores"]),
            ("replies", ["workspaces", "pair_scores"]),
        ],
    )
    def test_prune_removes_paid_replies_only_by_name(
        self, store: Store, chunks: StoredResult, answers: StoredResult, stage: str, left: list[str]
    ) -> None:
        store.replies("cc" * 32).add("1", Answer("1", AnswerState.OK, "so"))
        (store.workspace("dd" * 32) / "0.npy").write_bytes(b"x")
        store.pair_scores("ee" * 32).add(["q"], np.array([[0, 1]], dtype=np.int32), np.ones(1, dtype=np.float32))
        for folder in ("replies", "workspaces"):
            (store.root / folder / ".DS_Store").write_bytes(b"x")  # no result, and not the store's to delete
        assert run(store, "prune", "--older-than-days", "0", *(("--stage", stage) if stage else ())) == 0
        for folder in ("replies", "workspaces"):
            (store.root / folder / ".DS_Store").unlink()
        folders = ("replies", "workspaces", "pair_scores")
        assert [folder for folder in folders if list((store.root / folder).iterdir())] == left

    def test_prune_rejects_an_unknown_stage(
        self, store: Store, chunks: StoredResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(store, "prune", "--stage", "journals") == 2
        assert "--stage: got 'journals', expected one of chunks, replies" in capsys.readouterr().err
        assert chunks.folder.exists()

    def test_prune_dry_run_keeps_results(
        self, store: Store, chunks: StoredResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(store, "prune", "--older-than-days", "0", "--dry-run") == 0
        assert "would remove 1 results, 2.0 KiB" in capsys.readouterr().out
        assert chunks.folder.exists()

    @pytest.mark.parametrize(("has_others", "are_left"), [(True, [False, True, True]), (False, [False, False, True])])
    def test_prune_removes_workspaces_of_killed_runs_by_age(
        self, store: Store, has_others: bool, are_left: list[bool]
    ) -> None:
        ages_s = {"old": 2 * 86400, "young": 120, "new": 0}
        for name, age_s in ages_s.items():
            (store.root / "tmp" / name).mkdir()
            changed = time.time() - age_s
            os.utime(store.root / "tmp" / name, (changed, changed))
        (store.root / "writers").mkdir(exist_ok=True)
        (store.root / "writers" / "killed-1-0f").write_bytes(kernel())
        if has_others:
            (store.root / "writers" / "of-another-host-1-0f").write_text("its kernel")
        assert run(store, "prune") == 0
        assert [(store.root / "tmp" / name).exists() for name in ages_s] == are_left

    @pytest.mark.parametrize("name", [f".{'0f' * 16}", f".{'0f' * 16}.parquet"])
    @pytest.mark.parametrize("folder", ["replies", "pair_scores"])
    def test_prune_removes_half_written_reply_and_score_files_by_age(
        self, store: Store, folder: str, name: str
    ) -> None:
        store.replies("cc" * 32).add("1", Answer("1", AnswerState.OK, "so"))
        write_block(store.root / "pair_scores" / ("cc" * 32), "scores", np.zeros(1))
        before = set((store.root / folder).rglob("*"))
        left = store.root / folder / ("cc" * 32) / name
        left.write_text("half")
        assert run(store, "prune") == 0
        assert left.exists(), "it is new"
        two_days_ago = time.time() - 2 * 86400
        os.utime(left, (two_days_ago, two_days_ago))
        assert run(store, "prune") == 0
        assert set((store.root / folder).rglob("*")) == before

    def test_prune_removes_locks_of_dead_processes(self, store: Store) -> None:
        with store.lock("chunks", "cc" * 32):
            (held,) = (store.root / "locks").iterdir()
            left = held.with_name("left.lock")
            left.symlink_to("a process that was killed")
            two_days_ago = time.time() - 2 * 86400
            for path in (held, left):
                os.utime(path, (two_days_ago, two_days_ago), follow_symlinks=False)
            assert run(store, "prune") == 0
            assert [held.is_symlink(), left.is_symlink()] == [True, False]

    def test_prune_dates_replies_by_the_newest_file(self, store: Store) -> None:
        replies = store.replies("cc" * 32)
        replies.add("1", Answer("1", AnswerState.OK, "so"))
        (file,) = (store.root / "replies").glob("*/*.jsonl")
        two_days_ago = time.time() - 2 * 86400
        os.utime(file.parent, (two_days_ago, two_days_ago))
        assert run(store, "prune", "--older-than-days", "1", "--stage", "replies") == 0
        assert file.exists()
        for path in (file, file.parent):
            os.utime(path, (two_days_ago, two_days_ago))
        assert run(store, "prune", "--older-than-days", "1", "--stage", "replies") == 0
        assert not file.parent.exists()


class TestMissingStore:
    def test_store_command_names_and_does_not_create_a_missing_store(self, tmp_path: Path) -> None:
        done = run_command(tmp_path, "ls", module="runner.store")
        assert done.returncode == 2
        assert done.stderr == "results/store: this folder is not a store. Pass one with --store-dir.\n"
        assert list(tmp_path.iterdir()) == []

    def test_store_command_refuses_a_newer_store(self, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
        (store.root / "store.json").write_text('{"format": 4}')
        assert run(store, "verify") == 2
        assert "format 4" in capsys.readouterr().err


def test_store_command_names_results_that_it_cannot_remove(
    store: Store, chunks: StoredResult, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result belongs to another user."""

    def refuse(path: Path, _: Path) -> Path:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    flip_a_byte(chunks.folder / "data")
    monkeypatch.setattr(Path, "replace", refuse)
    for command in (["verify", "--delete"], ["prune", "--older-than-days", "0"]):
        assert run(store, *command) == 2
        said = capsys.readouterr().err
        assert f"{chunks.folder}: cannot be removed (Permission denied). Remove it as the user who made it" in said


class TestBesideRunningSweeps:
    def test_prune_keeps_needed_results_replies_and_workspaces(
        self, store: Store, chunks: StoredResult, answers: StoredResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store.replies("cc" * 32).add("1", Answer("1", AnswerState.OK, "so"))
        store.workspace("dd" * 32)
        with store.leases.take("a run", [chunks.manifest.key]):
            assert run(store, "prune", "--older-than-days", "0") == 0
            assert run(store, "prune", "--older-than-days", "0", "--stage", "replies") == 0
        assert "a sweep is running, so prune keeps 1 results that it needs" in capsys.readouterr().out
        assert [entry.manifest.kind for entry in store.entries()] == ["chunks"]
        assert list((store.root / "workspaces").iterdir())
        assert list((store.root / "replies").iterdir())
        assert run(store, "prune", "--older-than-days", "0") == 0
        assert list(store.entries()) == []
        assert not list((store.root / "workspaces").iterdir())

    def test_prune_keeps_all_results_while_a_sweep_plans(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A prune runs after the plan, which relies on stored results, and before the run."""
        assert run_small(tmp_path, RANKING_ONLY) == 0
        store = Store(tmp_path / "results" / "store")

        def plan_then_prune(*arguments: Any) -> SweepPlan:
            plan = plan_sweep(*arguments)
            assert run(store, "prune", "--older-than-days", "0") == 0
            return plan

        monkeypatch.setattr(sweep, "plan_sweep", plan_then_prune)
        n_results = len(list(store.entries()))
        assert run_small(tmp_path, RANKING_ONLY, sweep_id="again") == 0
        assert f"a sweep is running, so prune keeps {n_results} results that it needs" in capsys.readouterr().out
        assert len(list(store.entries())) == n_results

    def test_sweep_waits_to_plan_until_a_running_prune_ends(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, RANKING_ONLY) == 0
        store = Store(tmp_path / "results" / "store")
        with store.leases.pruning():
            second = start_command(tmp_path, *SMALL, *QUIET, *RANKING_ONLY)
            wait_until(lambda: len(list((store.root / "writers").iterdir())) == 2, second)
            time.sleep(0.5)
            assert list((store.root / "runs").glob("*.json")) == []
            for entry in store.entries():
                store.discard(entry)
        said = second.communicate(timeout=60)
        assert second.returncode == 0, said

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"process": "a"}', '{"process": "a", "keys": 1}'])
    def test_unreadable_lease_protects_no_result(self, store: Store, chunks: StoredResult, text: str) -> None:
        (store.root / "runs").mkdir()
        (store.root / "runs" / "cut.json").write_text(text)
        assert run(store, "prune", "--older-than-days", "0") == 0
        assert list(store.entries()) == []
        assert list((store.root / "runs").iterdir()) == []

    def test_concurrent_sweeps_prune_and_verify_lose_no_result(self, tmp_path: Path) -> None:
        """A prune and a verification at the same time each find the metrics of a lone run."""
        together, alone = tmp_path / "together", tmp_path / "alone"
        assert run_small(alone, *((*RANKING_ONLY, f"top_k={depth}") for depth in (2, 4, 8))) == 0
        expected = {cell.axes["top_k"]: cell.metrics for cell in cells_in(alone)}
        together.mkdir()
        arguments = ("-m", *SMALL, *QUIET, *RANKING_ONLY)
        sweeps = [start_command(together, *arguments, f"top_k={depths}") for depths in ("2,4", "4,8", "8,2")]
        wait_until((together / "results" / "store" / "store.json").exists, sweeps[0])
        store = Store(together / "results" / "store")
        while any(sweep.poll() is None for sweep in sweeps):
            assert run(store, "prune", "--older-than-days", "0") == 0
            assert run(store, "verify") == 0
            time.sleep(0.1)
        said = [sweep.communicate(timeout=10) for sweep in sweeps]
        assert [sweep.returncode for sweep in sweeps] == [0, 0, 0], said
        found = [{cell.axes["top_k"]: cell.metrics for cell in read_cells(path)} for path in sweep_folders(together)]
        assert len(found) == 3
        assert all(metrics == expected[depth] for cells in found for depth, metrics in cells.items())

    def test_lease_of_a_killed_sweep_protects_no_result(self, store: Store, chunks: StoredResult) -> None:
        with store.leases.take("a run", [chunks.manifest.key]):
            (left,) = (store.root / "runs").glob("*.json")
            content = left.read_text(encoding="utf-8")
        left.write_text(content.replace(store.writers.own_name, "a process that was killed"), encoding="utf-8")
        assert run(store, "prune", "--older-than-days", "0") == 0
        assert list(store.entries()) == []
        assert not left.exists()
