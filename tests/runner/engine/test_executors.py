import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from components.child_processes import SpawnWithoutMain
from components.errors import ComponentError, DamagedEntryError
from runner.engine.executors import contexts, processes
from runner.engine.executors.local import Local
from runner.engine.executors.processes import Processes
from runner.engine.executors.protocol import StartPriority
from runner.engine.outcome import StageRun
from runner.engine.schedule import PersistentWorkers, ignore_progress, run_stages
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store, StoredResult
from runner.engine.worker import Worker, read_cached
from tests.runner.engine import process_stages
from tests.runner.engine.fake_stages import (
    Adder,
    Left,
    Right,
    Source,
    Sum,
    Top,
    add,
    add_some,
    fail,
    interrupt,
    return_nonsense,
)
from tests.runner.engine.process_stages import (
    add_in_a_while,
    die_again,
    die_beside_a_child,
    die_twice,
    end_this_process,
    exceed_memory,
    leave,
    log_the_key,
    note_process,
    noted,
)
from tests.runner.sweeping import REPOSITORY, flip_a_byte, wait_until


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", run_id="this run")


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls.txt"


def later(store: Store) -> Store:
    """Open the store as another process of the same run does, so that manifests and checksums are read again."""
    return Store(store.root, store.run_id)


def run(order: Sequence[Stage[int]], store: Store, n_workers: int = 1) -> dict[str, StageRun]:
    """Count the outcomes of stages by kind."""
    return {ended.kind: ended for ended in run_stages(order, store, Processes(), n_workers)}


def result(store: Store, stage: Stage[int]) -> int:
    entry = later(store).find(stage.kind, stage.key)
    assert entry is not None
    return stage.codec.decode(entry.parts())


def noting(calls: Path, amounts: Sequence[int]) -> list[Sum]:
    return [Source(Adder(amount, calls=str(calls)), compute=note_process) for amount in amounts]


def report_progress(stage: Sum, run: Run) -> int:
    run.report(1, 1)
    return 0


def run_in_turn(workers: PersistentWorkers, orders: Sequence[Sequence[Stage[int]]]) -> list[StageRun]:
    """Run one order after the other, and return the outcomes of all."""
    outcomes: list[StageRun] = []
    for order in orders:
        with workers.running(order) as ended:
            outcomes += ended
    return outcomes


class TestPersistentWorkers:
    """Workers that run one order of stages after the other."""

    @pytest.fixture
    def workers(self, store: Store, calls: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PersistentWorkers]:
        monkeypatch.setattr(processes, "_OURS", ("tiny_components",))
        with PersistentWorkers(store, Processes(), 2, None, calls.parent) as started:
            yield started

    def test_persistent_workers_run_later_stages_in_the_same_processes(
        self, workers: PersistentWorkers, calls: Path
    ) -> None:
        outcomes = run_in_turn(workers, [noting(calls, range(start, start + 20)) for start in (0, 20, 40)])
        assert [ended.error for ended in outcomes if ended.failed] == []
        assert len(outcomes) == 60
        assert len(set(noted(calls))) == 2

    def test_stages_with_user_code_run_in_new_processes(
        self, workers: PersistentWorkers, calls: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(processes, "_OURS", ())
        outcomes = run_in_turn(workers, [noting(calls, range(start, start + 20)) for start in (0, 20)])
        assert len(outcomes) == 40
        assert len(set(noted(calls)[:20]) & set(noted(calls)[20:])) == 0

    def test_unpicklable_stages_need_new_processes(
        self, store: Store, calls: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(processes, "_OURS", ("tiny_components",))
        first, *others = noting(calls, range(4))
        unpicklable = Left(Adder(4), compute=lambda stage, run: 0)
        workers = Processes().start({each.key: each for each in others}, store, None, 2, ignore_progress, calls.parent)
        try:
            assert workers.extend({first.key: first})
            assert not workers.extend({unpicklable.key: unpicklable})
        finally:
            workers.stop()

    def test_dead_process_is_replaced_by_one_that_knows_all_stages(
        self, workers: PersistentWorkers, calls: Path
    ) -> None:
        dying = Left(Adder(1, calls=str(calls)), compute=die_twice)
        order = [dying, Top(Adder(2, calls=str(calls)), {"left": dying})]
        outcomes = run_in_turn(workers, [noting(calls, range(5)), order, noting(calls, range(5, 10))])
        assert [ended.error for ended in outcomes if ended.failed] == []
        assert len(outcomes) == 12

    def test_single_stage_does_not_tie_later_stages_to_one_process(
        self, workers: PersistentWorkers, calls: Path
    ) -> None:
        run_in_turn(workers, [noting(calls, [0]), noting(calls, range(1, 40))])
        first, *others = noted(calls)
        assert first == str(os.getpid())
        assert first not in others

    def test_abandoned_run_ends_its_workers(self, workers: PersistentWorkers, calls: Path, store: Store) -> None:
        with workers.running(noting(calls, range(20))) as ended:
            next(iter(ended))
        before = set(noted(calls))
        run_in_turn(workers, [noting(calls, range(20, 40))])
        assert not set(noted(calls)[-20:]) & before

    def test_progress_is_reported_to_the_callback_of_its_run(self, store: Store, calls: Path) -> None:
        seen: list[str] = []
        with PersistentWorkers(store, Local(), 1, None, calls.parent) as workers:
            for number in (1, 2):
                order = [Source(Adder(number), compute=report_progress)]
                with workers.running(
                    order, lambda stage, done, total: seen.append(f"{stage.component} {done}")
                ) as ended:
                    assert [run.error for run in ended] == [""]
        assert seen == [f"{Adder(number)} 1" for number in (1, 2)]


def chain(calls: Path | str = "", **computes: Any) -> list[Sum]:
    """source -> left, right -> top. A keyword names another function for a stage."""
    component = Adder(1, calls=str(calls))
    source = Source(component, compute=computes.get("source", add))
    left = Left(component, {"source": source}, compute=computes.get("left", add))
    right = Right(Adder(2, calls=str(calls)), {"source": source}, compute=computes.get("right", add))
    top = Top(component, {"left": left, "right": right}, compute=computes.get("top", add))
    return [source, left, right, top]


class TestPlaceOfStages:
    def test_daemonic_process_runs_stages_without_workers(
        self, store: Store, calls: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
        run(chain(calls, left=note_process, right=note_process), store, n_workers=2)
        assert {line.split()[-1] for line in noted(calls)[1:3]} == {str(os.getpid())}
        assert "this process cannot start workers" in caplog.text

    def test_local_executor_warns_that_it_ignores_run_workers(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert len(list(run_stages(chain(), store, Local(), 2))) == 4
        assert caplog.messages == [
            "run.workers: executor=local runs all stages in this process, one by one. Leave one of the two out."
        ]


class TestResults:
    def test_results_are_computed_once_and_stored(self, store: Store, calls: Path) -> None:
        order = chain(calls)
        assert not any(ended.reused for ended in run(order, store).values())
        assert result(store, order[-1]) == (1 + 1) + (1 + 2) + 1
        assert all(ended.reused for ended in run(order, store).values())
        assert noted(calls) == ["source", "left", "right", "top"]

    def test_missing_inputs_are_computed(self, store: Store) -> None:
        top = chain()[-1]
        assert not run([top], store)["top"].failed
        assert result(store, top) == 6

    def test_reused_result_reports_the_time_of_its_computation(self, store: Store) -> None:
        stage = chain()[0]
        first, second = run([stage], store)["source"], run([stage], store)["source"]
        assert (first.reused, second.reused) == (False, True)
        assert first.seconds == second.seconds > 0

    def test_stage_progress_is_reported_with_its_stage(self, store: Store) -> None:
        seen: list[tuple[str, int, int]] = []

        def add_slowly(stage: Sum, run: Run) -> int:
            run.report(1, 2)
            return add(stage, run)

        order = chain(right=add_slowly)
        list(
            run_stages(order, store, Processes(), 1, lambda stage, done, total: seen.append((stage.kind, done, total)))
        )
        assert seen == [("right", 1, 2)]


class TestFailures:
    def test_failed_stage_has_a_reason_and_a_trace(self, store: Store) -> None:
        ended = run(chain(left=fail), store)["left"]
        assert ended.failed
        assert ended.error == "left: Adder: 1 is not to be added"
        assert "in fail" in ended.trace

    def test_unexpected_error_is_reported_with_its_type_and_stage(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stumble(stage: Sum, run: Run) -> int:
            raise ValueError("no such number")

        monkeypatch.setattr(Left, "display_name", "adding on the left")
        assert run(chain(left=stumble), store)["left"].error == (
            "adding on the left: ValueError: no such number (your code in this stage: tiny_components.Adder)"
        )

    def test_stage_error_without_a_message_is_reported(self, store: Store) -> None:
        ended = run([Source(Adder(), compute=fail_without_a_word), Left(Adder())], store)
        assert ended["source"].error.startswith("source: Wordless: (its message cannot be shown) (")
        assert not ended["left"].failed

    def test_dependent_stages_fail_with_the_cause_and_others_continue(self, store: Store, calls: Path) -> None:
        ended = run(chain(calls, left=fail), store)
        assert {kind: one.failed for kind, one in ended.items()} == {
            "source": False, "left": True, "right": False, "top": True,
        }  # fmt: skip
        assert (ended["top"].error, ended["top"].trace) == (ended["left"].error, ended["left"].trace)
        assert noted(calls) == ["source", "right"]

    def test_failed_stage_is_tried_again_by_the_next_run(self, store: Store) -> None:
        run(chain(left=fail), store)
        assert not run(chain(), store)["top"].failed

    def test_result_that_cannot_be_stored_fails_its_stage(self, store: Store) -> None:
        ended = run(chain(left=return_nonsense), store)
        assert [ended[kind].failed for kind in ("left", "right", "top")] == [True, False, True]
        assert list((store.root / "tmp").iterdir()) == []

    def test_stage_failure_can_be_raised_as_the_original_error(self, store: Store) -> None:
        with pytest.raises(ComponentError, match="1 is not to be added"):
            Worker(store).run_or_raise(chain(source=fail)[0])

    def test_keyboard_interrupt_is_not_a_stage_failure(self, store: Store) -> None:
        with pytest.raises(KeyboardInterrupt):
            run(chain(left=interrupt), store)


class TestPartialResults:
    def test_results_of_partial_inputs_are_partial(self, store: Store) -> None:
        run(chain(left=add_some), store)
        partial = {entry.manifest.kind for entry in store.entries() if entry.manifest.partial}
        assert partial == {"left", "top"}

    def test_partial_results_are_computed_again_by_another_run(self, store: Store, calls: Path) -> None:
        run(chain(left=add_some), store)
        ended = run(chain(calls), Store(store.root, run_id="another run"))
        assert noted(calls) == ["left", "top"]
        assert [ended[kind].reused for kind in ("source", "left", "right", "top")] == [True, False, True, False]


class TestDamage:
    def file(self, store: Store, stage: Stage[int]) -> Path:
        return store.folder(stage.kind, stage.key) / "number.json"

    def test_damaged_input_is_repaired_and_reported(self, store: Store, calls: Path) -> None:
        order = chain(calls)
        run(order[:3], store)
        flip_a_byte(self.file(store, order[1]))
        ended = run(order, later(store))["top"]
        assert not ended.failed
        assert ended.damaged == (f"left {order[1].key[:12]}: number.json does not match its checksum",)
        assert noted(calls) == ["source", "left", "right", "left", "top"]
        assert result(store, order[-1]) == 6

    def test_input_of_an_unknown_format_is_repaired(self, store: Store, calls: Path) -> None:
        order = chain(calls)
        run(order[:3], store)
        file = self.file(store, order[1])
        file.write_bytes(b"of a later version")
        manifest = json.loads((file.parent / "manifest.json").read_text())
        manifest["files"][file.name] = [sha256(file.read_bytes()).hexdigest(), file.stat().st_size]
        (file.parent / "manifest.json").write_text(json.dumps(manifest))
        ended = run(order, later(store))["top"]
        assert not ended.failed
        assert [damage.split(" (")[0] for damage in ended.damaged] == [
            f"left {order[1].key[:12]}: number.json cannot be read"
        ]
        assert result(store, order[-1]) == 6

    def test_several_damaged_inputs_are_repaired(self, store: Store, calls: Path) -> None:
        order = chain(calls)
        run(order[:3], store)
        for stage in order[:3]:
            flip_a_byte(self.file(store, stage))
        ended = run(order, later(store))["top"]
        assert not ended.failed
        assert len(ended.damaged) == 3
        assert result(store, order[-1]) == 6

    def test_damage_repaired_by_another_process_is_not_repaired_again(self, store: Store) -> None:
        reads: list[str] = []

        def find_it_damaged_once(stage: Sum, run: Run) -> int:
            reads.append(stage.kind)
            if len(reads) == 1:
                raise DamagedEntryError("left: number.json is missing")
            return add(stage, run)

        assert not run(chain(top=find_it_damaged_once), store)["top"].failed
        assert reads == ["top", "top"]

    def test_permanently_damaged_input_fails_the_stage(self, store: Store) -> None:
        def find_it_damaged(stage: Sum, run: Run) -> int:
            raise DamagedEntryError("left: number.json is missing")

        assert run(chain(top=find_it_damaged), store)["top"].error.endswith("left: number.json is missing")

    def test_result_deleted_during_a_read_is_computed_again(self, store: Store, calls: Path) -> None:
        stage = chain(calls)[0]
        run([stage], store)

        def lose_it_once(entry: StoredResult) -> int:
            if len(noted(calls)) == 1:
                shutil.rmtree(entry.folder)
            return int(entry.parts()["number"])

        assert read_cached(stage, store, lose_it_once) == 1
        assert noted(calls) == ["source", "source"]

    @pytest.mark.parametrize("remove", [True, False], ids=["missing", "truncated"])
    def test_damaged_result_is_recomputed(self, store: Store, calls: Path, remove: bool) -> None:
        order = chain(calls)
        run(order, store)
        path = self.file(store, order[-1])
        if remove:
            path.unlink()
        else:
            path.write_bytes(b"")
        ended = run(order, later(store))["top"]
        assert (ended.reused, len(ended.damaged)) == (False, 1)
        assert noted(calls)[-1] == "top"
        assert result(store, order[-1]) == 6

    def test_damage_of_the_manifest_is_repaired(self, store: Store, calls: Path) -> None:
        order = chain(calls)
        run(order, store)
        (store.folder("top", order[-1].key) / "manifest.json").write_text("{")
        assert not run(order, later(store))["top"].reused
        assert noted(calls).count("top") == 2


class Wordless(Exception):
    """An error whose message cannot be formatted."""

    def __str__(self) -> str:
        raise AttributeError("reason")


def fail_without_a_word(stage: Sum, run: Run) -> int:
    raise Wordless


def goes_silent(beats: Path, limit_s: float = 10.0) -> bool:
    """Return True if nothing more is added to a file before the time is up."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        n_bytes = beats.stat().st_size
        time.sleep(0.3)
        if beats.stat().st_size == n_bytes:
            return True
    return False


class TestProcesses:
    @pytest.mark.parametrize("method", ["fork", "spawn", "server"])
    def test_workers_end_when_their_parent_is_killed(self, method: str, tmp_path: Path) -> None:
        code = f"from {process_stages.__name__} import beat_for_ever; beat_for_ever({str(tmp_path)!r}, {method!r})"
        parent = subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, start_new_session=True)
        beats = tmp_path / "beats"
        try:
            wait_until(lambda: len(set(noted(beats))) == 2, parent)
            os.kill(parent.pid, signal.SIGKILL)  # not the workers
            parent.wait()
            assert goes_silent(beats)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)

    def test_spawned_worker_hides_secrets_in_its_log(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """A spawned worker does not inherit the masked output of the command."""
        monkeypatch.setenv("MY_API_KEY", "Quite-Secret-77")
        monkeypatch.setattr(contexts, "fork_or_spawn", SpawnWithoutMain)
        order = [Left(Adder(1), compute=log_the_key), Right(Adder(2), compute=log_the_key)]
        assert not any(ended.failed for ended in run(order, store, n_workers=2).values())
        errors = capfd.readouterr().err
        assert "refused ***" in errors
        assert "Quite-Secret" not in errors

    def test_worker_processes_give_the_same_results(self, tmp_path: Path) -> None:
        one, many = Store(tmp_path / "one"), Store(tmp_path / "many")
        order = chain(left=fail)
        alone, together = run(order, one), run(order, many, n_workers=2)
        assert {kind: (ended.key, ended.error) for kind, ended in alone.items()} == {
            kind: (ended.key, ended.error) for kind, ended in together.items()
        }
        assert result(one, order[2]) == result(many, order[2])

    def test_stage_that_keeps_killing_its_worker_fails_alone(self, store: Store, calls: Path) -> None:
        beside = Right(Adder(2, calls=str(calls)), compute=add_in_a_while)
        ended = run([*chain(calls, left=die_again)[:2], beside], store, n_workers=2)
        assert {kind: one.failed for kind, one in ended.items()} == {"source": False, "left": True, "right": False}
        assert noted(calls).count("left") == 3
        assert noted(calls).count("right") == 1, "what ran beside it is neither blamed nor run again"
        assert ended["left"].error.endswith("; it was tried 3 times")

    def test_stage_whose_worker_dies_twice_succeeds(self, store: Store, calls: Path) -> None:
        ended = run(chain(calls, left=die_twice), store, n_workers=2)
        assert not any(one.failed for one in ended.values())
        assert noted(calls).count("left") == 3

    def test_killed_worker_is_reported_as_the_failure_of_its_stage(self, store: Store) -> None:
        ended = run(chain(left=end_this_process), store, n_workers=2)
        assert ended["left"].error.startswith("left: the worker process was killed (SIGKILL), most likely because")
        assert ended["top"].failed
        assert not ended["right"].failed

    def test_worker_without_memory_fails_only_its_stage(self, store: Store) -> None:
        ended = run(chain(left=exceed_memory), store, n_workers=2)
        assert ended["left"].error.startswith(
            "left: a worker process ran out of memory. Try run.workers=1 or a smaller"
        )
        assert ended["left"].error.endswith("; it was tried 3 times")
        assert ended["top"].failed
        assert not ended["right"].failed

    def test_dead_worker_is_detected_despite_its_living_child(self, store: Store, calls: Path) -> None:
        ended = run(chain(calls, source=die_beside_a_child), store, n_workers=2)
        assert ended["source"].error.endswith("; it was tried 3 times")
        assert noted(calls) == [], "the child ended first"

    def test_worker_that_exits_is_distinguished_from_a_killed_worker(self, store: Store) -> None:
        ended = run(chain(left=leave), store, n_workers=2)
        assert ended["left"].error.startswith("left: the worker process ended with exit code 3: a component")

    def test_workers_neither_rerun_the_program_nor_wait_for_its_threads(self, tmp_path: Path) -> None:
        """OpenMP's threads do not survive a fork, and a new interpreter would run what has no guard."""
        (tmp_path / "program.py").write_text(
            f"print('started')\nfrom {process_stages.__name__} import search_twice\nsearch_twice({str(tmp_path)!r})\n"
        )
        done = subprocess.run(
            [sys.executable, tmp_path / "program.py"],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "2"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.stdout, done.returncode) == ("started\n", 0), done.stderr

    def test_worker_process_keeps_one_model(self, store: Store, tmp_path: Path) -> None:
        stages = [Left(Adder(n, model, str(tmp_path / model)), compute=note_process) for model in "ab" for n in (1, 2)]
        first_a, second_a, first_b, second_b = stages
        workers = Processes().start({stage.key: stage for stage in stages}, store, None, 2, ignore_progress, tmp_path)
        for stage in (first_a, first_b):
            assert workers.start_priority(stage) is StartPriority.NEW
            workers.submit(stage)
            assert workers.start_priority(second_a) is (StartPriority.AGAIN if stage is first_a else StartPriority.NONE)
        n_ended = 0
        workers.start_submitted()
        while n_ended < 2:
            n_ended += len(workers.wait_for_outcomes())
        for stage in (second_b, second_a):
            assert workers.start_priority(stage) is StartPriority.READY
            workers.submit(stage)
        workers.start_submitted()
        while n_ended < 4:
            n_ended += len(workers.wait_for_outcomes())
        workers.stop()
        assert [len(set(noted(tmp_path / model))) for model in "ab"] == [1, 1]

    def test_chained_stages_run_in_the_process_of_their_input(self, store: Store, tmp_path: Path) -> None:
        order: list[Stage[int]] = []
        for n in (1, 2):
            component = Adder(n, calls=str(tmp_path / f"chain {n}"))
            chained: dict[str, Stage[int]] = {}
            for kind in (Source, Left, Right, Top):
                order.append(kind(component, chained, compute=note_process))
                chained = {"before": order[-1]}
        run(order, store, n_workers=2)
        of_chains = [noted(tmp_path / f"chain {n}") for n in (1, 2)]
        assert [(len(pids), len(set(pids))) for pids in of_chains] == [(4, 1), (4, 1)]
        assert of_chains[0] != of_chains[1]

    def test_stages_of_the_main_module_run_in_the_command(self, store: Store, tmp_path: Path) -> None:
        own = type("Own", (Adder,), {"__module__": "__main__"})(calls=str(tmp_path / "pids"))
        run([Left(own, compute=note_process), Right(own, compute=note_process)], store, n_workers=2)
        assert noted(tmp_path / "pids") == [str(os.getpid())] * 2

    def test_worker_processes_run_each_stage_once(self, store: Store, calls: Path) -> None:
        order = chain(calls)
        run(order, store, n_workers=2)
        assert sorted(noted(calls)) == ["left", "right", "source", "top"]
        assert result(store, order[-1]) == 6
