import json
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path

import pytest

from runner.engine.executors import slurm_queue
from runner.engine.executors.slurm_queue import (
    Journal,
    Models,
    TaskQueue,
    TaskQueueReader,
    Wait,
    journal_path,
    make_folders,
)

X, Y = (frozenset({(name, "")}) for name in "xy")
N_TASKS = 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_folders(tmp_path / "queue")
    return tmp_path / "queue"


def taker(folder: Path, worker: str = "w", **models: Models) -> TaskQueueReader:
    journal_path(folder, worker, "runs").touch()
    return TaskQueueReader(
        folder, worker, {f"{i}": frozenset[tuple[str, str]]() for i in range(N_TASKS)} | dict(models)
    )


def offer(folder: Path, *keys: str, n_holders: Mapping[str, int] | None = None) -> TaskQueue:
    offers = TaskQueue(folder)
    for key in keys:
        offers.put(key, (n_holders or {}).get(key, 0))
    offers.write()
    return offers


def lines(folder: Path, worker: str) -> list[dict[str, object]]:
    return Journal(journal_path(folder, worker, "runs")).new_lines()


def take_all(folder: Path, worker: str) -> None:
    """Take tasks until none is left."""
    own = taker(folder, worker)
    while task := own.take(0.0):
        own.record_outcome(task, {"pid": os.getpid()})


class TestClaims:
    @pytest.mark.parametrize("kind", [threading.Thread, get_context("fork").Process], ids=["threads", "processes"])
    def test_slurm_task_is_claimed_by_one_worker(self, folder: Path, kind: type) -> None:
        offer(folder, *map(str, range(N_TASKS)))
        names = ["a", "b", "c", "d"]
        workers = [kind(target=take_all, args=(folder, name)) for name in names]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        told = [line for name in names for line in lines(folder, name)]
        assert Counter(line["began"] for line in told if "began" in line) == Counter(range(1, N_TASKS + 1))
        assert Counter(line["ended"] for line in told if "ended" in line) == Counter(range(1, N_TASKS + 1))
        assert list((folder / "tasks").iterdir()) == []

    def test_repeated_rename_still_claims_the_slurm_task(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Repeats the rename like a network file system that lost the first reply."""
        offer(folder, "0")
        rename = Path.rename

        def answer_twice(source: Path, target: Path) -> None:
            rename(source, target)
            rename(source, target)

        monkeypatch.setattr(Path, "rename", answer_twice)
        task = taker(folder).take(0.0)
        assert task is not None
        assert task.key == "0"

    def test_slurm_successor_skips_tasks_of_its_predecessor(self, folder: Path) -> None:
        offer(folder, "0", "1")
        keys = [task and task.key for task in (taker(folder).take(0.0) for _ in range(3))]
        assert keys == ["0", "1", None]

    def test_claim_of_a_worker_that_died_before_reporting_is_found(self, folder: Path) -> None:
        offers = offer(folder, "0", "1")
        (folder / "tasks" / "2").rename(folder / "taken" / "2.b")
        assert [offers.is_taken_by(number, "b") for number in (1, 2)] == [False, True]


class TestOrder:
    def test_slurm_tasks_are_taken_in_the_order_of_the_offers(self, folder: Path) -> None:
        offer(folder, "2", "0", "1")
        own = taker(folder)
        assert [task.key for task in iter(lambda: own.take(0.0), None)] == ["2", "0", "1"]

    def test_slurm_worker_takes_tasks_for_loaded_models_first(self, folder: Path) -> None:
        offers = offer(folder, "x1")
        own = taker(folder, x1=X, x2=X, y=Y)
        assert own.take(0.0)
        for key in ("y", "x2", "0"):
            offers.put(key)
        offers.write()
        assert [task.key for task in iter(lambda: own.take(0.0), None)] == ["x2", "0", "y"]

    def test_slurm_worker_leaves_models_of_another_holder_for_a_while(self, folder: Path) -> None:
        offer(folder, "x", "y", n_holders={"x": 1})
        own = taker(folder, x=X, y=Y)
        taken = [own.take(0.0), own.take(0.0), own.take(slurm_queue._PATIENCE_S)]
        assert [task and task.key for task in taken] == ["y", None, "x"]

    def test_slurm_worker_takes_a_model_after_its_holders_are_updated(self, folder: Path) -> None:
        offers = offer(folder, "x", n_holders={"x": 1})
        own = taker(folder, x=X)
        assert own.take(0.0) is None
        (task,) = offers
        offers.set_holders(task, 0)
        offers.write()
        assert own.take(0.0)


class TestOffers:
    def test_slurm_queue_without_a_driver_file_has_no_offers(self, folder: Path) -> None:
        assert taker(folder).take(0.0) is None

    def test_withdrawn_slurm_tasks_are_no_longer_offered(self, folder: Path) -> None:
        offers = offer(folder, "0", "1")
        offers.withdraw(1)
        offers.put("2")
        offers.write()
        assert [key for _, key, _ in json.loads((folder / "waiting.json").read_text())["tasks"]] == ["1", "2"]

    def test_dismissed_slurm_worker_takes_no_task(self, folder: Path) -> None:
        offers = offer(folder, "0", "1")
        own, other = taker(folder, "w"), taker(folder, "other")
        assert own.take(0.0)
        offers.dismiss("w")
        assert [task.number for task in offers.tasks_of_dismissed_workers] == [1]
        offers.write()
        assert own.take(0.0) is None
        assert own.is_dismissed
        task = other.take(0.0)
        assert task is not None
        assert (task.key, other.is_dismissed) == ("1", False)


class TestJournal:
    def test_slurm_journal_returns_only_new_lines(self, tmp_path: Path) -> None:
        journal = Journal(tmp_path / "j")
        reader = Journal(tmp_path / "j")
        for i in range(2):
            journal.append({"ended": i})
            journal.beat()
            assert reader.new_lines() == [{"ended": i}]
        assert reader.new_lines() == []

    def test_slurm_journal_continues_after_an_incomplete_line(self, tmp_path: Path) -> None:
        path = tmp_path / "j"
        Journal(path).append({"ended": 1})
        path.write_bytes(path.read_bytes() + b'{"end')
        reader = Journal(path)
        assert reader.new_lines() == [{"ended": 1}]
        Journal(path).append({"ended": 2})
        assert reader.new_lines() == [{"ended": 2}]


def test_slurm_queue_pauses_grow_with_the_time_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", slept.append)
    wait = Wait()
    for now[0] in (0.0, 1.0, 100.0):
        wait.pause()
    assert slept == [0.001, 0.05, 1.0]
