"""Runs the stages of a plan, in this process or in several, and says how each ended."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.engine.worker import StageRun, Worker


def run_stages(
    order: Sequence[Stage], store: Store, n_workers: int, report: Callable[[Stage, int, int], None]
) -> Iterator[StageRun]:
    """Runs stages, inputs before what needs them, and yields how each ended. One that needs a failed one fails with it.

    `report(stage, done, all)` is called from long stages; only within this process.
    """
    if n_workers > 1 and len(order) > 1:
        yield from _in_pool(order, store, n_workers)
        return
    worker = Worker(store)
    failed: dict[str, StageRun] = {}
    for stage in order:
        run = _blocked(stage, failed) or worker.run(stage, lambda done, total, stage=stage: report(stage, done, total))  # type: ignore[misc]
        if run.failed:
            failed[stage.key] = run
        yield run


def _blocked(stage: Stage, failed: dict[str, StageRun]) -> StageRun | None:
    """The failure that a stage inherits from an input, if any."""
    for before in stage.inputs.values():
        if before.key in failed:
            cause = failed[before.key]
            return StageRun(stage.key, stage.kind, error=cause.error, trace=cause.trace)
    return None


_worker: Worker | None = None


def _start_worker(root: Path, run_id: str) -> None:
    """Ctrl-C reaches the whole process group: the parent ends its workers, they need not print a traceback each."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = Worker(Store(root, run_id))


def _run_in_worker(stage: Stage) -> StageRun:
    assert _worker is not None
    return _worker.run(stage)


class _Pool:
    """Worker processes of which one may die (killed for memory, say): then all end, and new ones take their place."""

    def __init__(self, store: Store, n_workers: int) -> None:
        self._store, self.n_workers = store, n_workers
        self.running: dict[Future[StageRun], Stage] = {}
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self.n_workers, context, _start_worker, (self._store.root, self._store.run_id))

    def submit(self, stage: Stage) -> None:
        """Runs a stage in a worker that is free."""
        self.running[self._pool.submit(_run_in_worker, stage)] = stage

    def ended(self) -> tuple[list[StageRun], list[Stage]]:
        """Waits for at least one: how stages ended, and the stages that ran when a worker died."""
        done = wait(self.running, return_when=FIRST_COMPLETED).done
        if not any(isinstance(future.exception(), BrokenProcessPool) for future in done):
            runs = [future.result() for future in done]
            for future in done:
                del self.running[future]
            return runs, []
        lost = list(self.running.values())
        self.running.clear()
        self._pool.shutdown()
        self._start()
        return [], lost

    def stop(self) -> None:
        """Ends the workers, whatever they do: the store keeps no half of a result."""
        for process in list((self._pool._processes or {}).values()):
            process.terminate()
        self._pool.shutdown(cancel_futures=True)


def _in_pool(order: Sequence[Stage], store: Store, n_workers: int) -> Iterator[StageRun]:
    """Keeps every worker busy with the first stage of the order that is ready.

    When a worker dies, the stages that ran are run again one by one, to find out which of them it was.
    """
    pool = _Pool(store, n_workers)
    waiting = {stage.key: stage for stage in order}
    suspects: list[Stage] = []
    failed: dict[str, StageRun] = {}
    try:
        while waiting or pool.running or suspects:
            runs: list[StageRun] = []
            alone = suspects.pop() if suspects and not pool.running else None
            if alone:
                pool.submit(alone)
            elif not suspects:
                busy = {stage.key for stage in pool.running.values()}
                for stage in _ready(waiting, busy, n_workers - len(pool.running)):
                    del waiting[stage.key]
                    if blocked := _blocked(stage, failed):
                        runs.append(blocked)
                    else:
                        pool.submit(stage)
            if pool.running:
                ended, lost = pool.ended()
                runs += ended
                if len(lost) == 1:
                    runs.append(_died(lost[0]))
                else:
                    suspects += lost
            for run in runs:
                if run.failed:
                    failed[run.key] = run
                yield run
    finally:
        pool.stop()


def _died(stage: Stage) -> StageRun:
    message = "the worker process died, most likely killed for want of memory; try run.workers=1 or a smaller workload"
    return StageRun(stage.key, stage.kind, error=f"{stage.kind}: {message}")


def _ready(waiting: dict[str, Stage], running: set[str], n_free: int) -> list[Stage]:
    """The first stages of the order none of whose inputs is waiting or running."""
    found: list[Stage] = []
    for stage in waiting.values():
        if len(found) == n_free:
            break
        if all(before.key not in waiting and before.key not in running for before in stage.inputs.values()):
            found.append(stage)
    return found
