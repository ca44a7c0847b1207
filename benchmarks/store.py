"""Several writers on one store: results must be right even if locks fail to separate the writers.

The tests are two processes that do not see each other's locks, a stopped holder of a lock, repeatedly killed processes,
and overlapping sweeps during `prune` and `verify`.
"""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.errors import DamagedEntryError
from components.fields import runtime_only
from components.json_value import Json
from components.records import Answer, AnswerState
from runner.engine.codecs import NamedArraysCodec, Parts
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store
from runner.engine.store.held_locks import HeldLock
from runner.engine.store.writers import LEASE_S, Writers
from runner.engine.worker import Worker
from runner.results import OK, read_cells

_GRIDS = (
    ("chunk.size=64,128", "retriever=bm25,dense", "top_k=2,3,4"),
    ("chunk.size=128,256", "retriever=bm25,hybrid", "top_k=3,4,5"),
    ("chunk.size=64,256", "retriever=dense,hybrid", "top_k=2,4,5"),
)
"""Overlapping sweeps."""

_REPLIES = "a model, for a purpose"
_MAX_SECONDS = 120.0
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


class Unlocked(Store):
    """A store whose locks no other process sees, as on a file system without locks."""

    @contextmanager
    def lock(self, kind: str, key: str, *, from_stopped: bool = True) -> Iterator[HeldLock]:
        """Admit all callers."""
        yield HeldLock(had_holder=False)


class Impatient(Store):
    """A store with leases of a second."""

    def __init__(self, root: Path, run_id: str = "") -> None:
        super().__init__(root, run_id)
        self.writers = Writers(root / "writers", 1.0)

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[Path, str]]:
        return Impatient, (self.root, self.run_id)


class Signed(Stage[Parts], kind="signed", version=1):
    """A stage of two arrays with the number of the process that made them, so that results differ between processes."""

    codec = NamedArraysCodec()

    number: int
    seconds: float = runtime_only(0.0, "how long it takes")

    def make(self, run: Run) -> Parts:
        """Return both arrays after a delay."""
        time.sleep(self.seconds)
        return {name: np.full(1000, os.getpid()) for name in ("one", "other")}


def maker(store: Store, number: int) -> int | None:
    """Return the process whose result is stored, or None.

    Raises DamagedEntryError, or ValueError if two processes made its parts.
    """
    stage = Signed(number)
    entry = store.find(stage.kind, stage.key)
    if entry is None:
        return None
    makers = {int(value) for part in entry.parts().values() for value in np.unique(part)}
    if len(makers) != 1:
        raise ValueError(f"{number}: made by {makers}")
    return makers.pop()


def measure(settings: Settings) -> list[Measure]:
    """Run the full test. Nothing may be lost, mixed up or incomplete."""
    n_results, n_reads, n_rounds = 300, 3000, 200
    written = write_together(settings.scratch / "two", n_results, n_reads)
    waited_s = stop_a_holder(Store(settings.scratch / "stopped"))
    killed = kill_repeatedly(settings.scratch / "killed", n_rounds)
    swept = sweep_together(settings.scratch / "sweeps", _GRIDS)
    return [
        _errors(
            "errors of two writers and two readers without a common lock",
            written.errors,
            f"{n_results} results by each, of which {written.n_second} came second; {n_reads:,} reads",
        ),
        Measure("wait for a holder that was stopped", waited_s, "s", f"lease {LEASE_S:g} s", Bound(1.25 * LEASE_S)),
        _errors(
            "results and replies lost or damaged by SIGKILL",
            killed.errors,
            f"{n_rounds} kills, {killed.n_done:,} results and replies",
        ),
        Measure("longest wait behind a killed process", killed.longest_wait_s, "s", "which held a lock", Bound(2.0)),
        _errors(
            "errors of three overlapping sweeps during prune and verify",
            swept.errors,
            f"{swept.n_cells} cells, prune and verify {swept.n_looks} times",
        ),
    ]


def _errors(name: str, errors: Sequence[str], detail: str) -> Measure:
    return Measure(name, len(errors), "", "; ".join([detail, *errors[:3]]), Bound(0))


@dataclass(frozen=True)
class Written:
    """Results of two writers without a common lock. Both made `n_second` results, and one result of each stayed."""

    n_second: int
    errors: Sequence[str]


def write_together(root: Path, n_results: int, n_reads: int) -> Written:
    """Let two processes make the same results, each at the same moment, while two others read them."""
    Store(root)
    together = _CONTEXT.Barrier(2)
    writers = [_Child(_write_all, root, n_results, together) for _ in range(2)]
    readers = [_Child(_read_some, root, n_results, n_reads // 2, seed) for seed in range(2)]
    (n_one, made_one, errors_one), (n_other, made_other, errors_other) = [child.result() for child in writers]
    errors = [*errors_one, *errors_other, *(error for child in readers for error in child.result())]
    if made_one != made_other:
        errors.append("two writers report different results")
    return Written(n_one + n_other, [*errors, *faults(root, n_results)])


def _write_all(_: Connection, root: Path, n: int, together: Barrier) -> tuple[int, list[int | None], list[str]]:
    store = Unlocked(root)
    worker = Worker(store)
    runs, makers = [], []
    for number in range(n):
        together.wait(_MAX_SECONDS)
        runs.append(worker.run(Signed(number, seconds=0.003)))
        makers.append(maker(store, number))
    return sum(run.reused for run in runs), makers, [run.error for run in runs if run.failed]


def _read_some(_: Connection, root: Path, n: int, n_reads: int, seed: int) -> list[str]:
    """Read random results. Every result that exists must be whole."""
    chosen = random.Random(seed)
    errors = []
    while n_reads:
        try:
            n_reads -= maker(Store(root), chosen.randrange(n)) is not None
        except (DamagedEntryError, ValueError, OSError) as error:
            errors.append(repr(error))
            n_reads -= 1
    return errors


def faults(root: Path, n_results: int | None = None) -> list[str]:
    """Return the errors in a store that no process is writing. With `n_results`, no process was killed there."""
    store = Store(root)
    entries = list(store.entries())
    found = [f"{entry.folder}: {'; '.join(damages)}" for entry in entries if (damages := entry.damages())]
    found += [f"{folder}: no manifest" for folder in store.folders_without_manifest()]
    if n_results is not None:
        found += [f"left: {path}" for name in ("tmp", "locks") for path in (root / name).iterdir()]
        if len(entries) != n_results:
            found.append(f"{len(entries)} results, expected {n_results}")
    return found


def stop_a_holder(store: Store) -> float:
    """Return the seconds until another process has the lock of a stopped one. Raises RuntimeError if their results
    differ.
    """
    holder = _Child(_make_slowly, store, 1.0)
    _wait_for(lambda: any((store.root / "locks").iterdir()))
    holder.send(signal.SIGSTOP)
    started = time.monotonic()
    own = Worker(store).run(Signed(0))
    waited_s = time.monotonic() - started
    holder.send(signal.SIGCONT)
    was_reused, made_by = holder.result()
    if own.reused or not was_reused or {made_by, maker(store, 0)} != {os.getpid()} or faults(store.root, 1):
        raise RuntimeError(f"{own}, {was_reused=}, {made_by=}, {faults(store.root, 1)}: expected one result")
    return waited_s


def _make_slowly(_: Connection, store: Store, seconds: float) -> tuple[bool, int | None]:
    run = Worker(store).run(Signed(0, seconds=seconds))
    return run.reused, maker(store, 0)


@dataclass(frozen=True)
class Killed:
    """Outcome of the `n_done` results and replies that processes had reported before they were killed."""

    n_done: int
    longest_wait_s: float
    errors: Sequence[str]


def kill_repeatedly(root: Path, n_rounds: int) -> Killed:
    """Run processes that make results and store replies. Each is killed at a random moment, and the next continues."""
    store = Store(root)
    chosen = random.Random(0)
    results: list[int] = [-1]
    replies: list[str] = []
    longest_s = 0.0
    for number in range(n_rounds):
        child = _Child(_work_until_killed, root, results[-1] + 1, f"round {number}")
        first, seconds = child.receive()
        longest_s = max(longest_s, seconds)
        results.append(first)
        time.sleep(chosen.uniform(0, 0.04))
        child.send(signal.SIGKILL)
        for done in child.receive_all():
            (results if isinstance(done, int) else replies).append(done)
    stored = store.replies(_REPLIES).get_all(replies)
    errors = [f"{name}: lost" for name in replies if stored.get(name) != _reply(name)]
    errors += [f"result {done}: lost" for done in results[1:] if maker(store, done) is None]
    return Killed(len(results) - 1 + len(replies), longest_s, [*errors, *faults(root)])


def _work_until_killed(report: Connection, root: Path, first: int, name: str) -> None:
    store = Store(root)
    worker, replies, started = Worker(store), store.replies(_REPLIES), time.monotonic()
    worker.run(Signed(first))  # the previous process may have held its lock
    report.send((first, time.monotonic() - started))
    for number in range(first + 1, first + 10_000):
        worker.run(Signed(number))
        report.send(number)
        request = f"{name}: {number}"
        replies.add(request, _reply(request))
        report.send(request)


def _reply(request: str) -> Answer:
    return Answer(request, AnswerState.OK, request * 50)


@dataclass(frozen=True)
class Swept:
    """Outcome of concurrent sweeps, while the store was pruned and verified `n_looks` times each."""

    n_cells: int
    n_looks: int
    errors: Sequence[str]


def sweep_together(folder: Path, grids: Sequence[Sequence[str]]) -> Swept:
    """Run concurrent sweeps on one store, while it is pruned of unneeded entries and verified; then run each alone."""
    together = folder / "together"
    sweeps = [_command("runner", together / str(n), *_arguments(together, grid)) for n, grid in enumerate(grids)]
    store = ("--store-dir", str(together / "store"))
    errors: list[str] = []
    n_looks = 0
    _wait_for((together / "store" / "store.json").is_file)
    while any(sweep.poll() is None for sweep in sweeps):
        for command in (("prune", "--older-than-days", "0"), ("verify",)):
            look = _command("runner.store", together, *store, *command)
            said, _ = look.communicate()
            if look.returncode:
                errors.append(f"{command[0]}: {said[-500:]}")
        n_looks += 1
    errors += [f"exit code {sweep.returncode}: {sweep.communicate()[0][-500:]}" for sweep in sweeps if sweep.wait()]
    found = [_metrics(together / str(n)) for n in range(len(grids))]
    for n, grid in enumerate(grids):
        alone = folder / f"alone-{n}"
        _command("runner", alone, *_arguments(alone, grid)).communicate()
        if not found[n] or found[n] != _metrics(alone):
            errors.append(f"sweep {n}: other metrics than alone")
    return Swept(sum(map(len, found)), n_looks, [*errors, *faults(together / "store")])


def _arguments(folder: Path, grid: Sequence[str]) -> list[str]:
    return ["-m", *grid, f"run.store_dir={folder / 'store'}", "tracking=none", "run.progress=false"]


def _command(module: str, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _metrics(folder: Path) -> dict[str, Json]:
    """Return the metrics of every cell by its axes."""
    (sweep,) = (path.parent for path in (folder / "results").glob("*/sweep.json"))
    cells = [cell for cell in read_cells(sweep) if cell.status == OK]
    return {str(sorted(cell.axes.items())): dict(cell.metrics) for cell in cells}


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + _MAX_SECONDS
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError("the awaited moment never came")
        time.sleep(0.01)


class _Child:
    """A process that calls `target(connection, *arguments)`, and the objects that it sends back."""

    def __init__(self, target: Callable[..., Any], *arguments: Any) -> None:
        self._connection, theirs = _CONTEXT.Pipe()
        with theirs:
            self._process = _CONTEXT.Process(target=_call, args=(target, theirs, *arguments), daemon=True)
            self._process.start()

    def receive(self) -> Any:
        """Return the next object. Raises RuntimeError if none arrives for long, EOFError if the process has ended."""
        if not self._connection.poll(_MAX_SECONDS):
            raise RuntimeError("a process did not come to its end")
        return self._connection.recv()

    def receive_all(self) -> Iterator[Any]:
        """Yield all objects until the process has ended."""
        while True:
            try:
                yield self.receive()
            except (EOFError, ConnectionResetError):
                return

    def result(self) -> Any:
        """Return the result of the target. Raises EOFError if the target raised an exception."""
        result = self.receive()
        self._process.join()
        return result

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)


def _call(target: Callable[..., Any], connection: Connection, *arguments: Any) -> None:
    connection.send(target(connection, *arguments))
