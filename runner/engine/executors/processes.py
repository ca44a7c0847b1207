"""Runs stages in worker processes, of which one may die: its stage is found out, and the others go on."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from pathlib import Path

from components.errors import BudgetReached
from components.openai_server.gate import Gate
from components.processes import SpawnWithoutMain, end_with_parent
from runner.engine.executors.contexts import fork_or_spawn
from runner.engine.outcome import StageRun, inherited_failure
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.engine.worker import Worker

Stages = Mapping[str, Stage[object]]


class _Workplace:
    """What a worker process holds from its start: the stages, so that a task is no more than a key."""

    stages: Stages
    worker: Worker


def _start_worker(stages: Stages, root: Path, run_id: str, gate: Gate | None) -> None:
    """Ctrl-C and the end of a terminal reach the whole process group: the parent ends its workers, they need not print
    a traceback each. A parent that was killed cannot: they watch for its end themselves.
    """
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a forked worker has the parent's own handler
    end_with_parent()  # it would go on asking a model that costs money
    _Workplace.stages = stages
    _Workplace.worker = Worker(Store(root, run_id), gate)


def _run_in_worker(key: str) -> StageRun:
    return _Workplace.worker.run(_Workplace.stages[key])


class _Pool:
    """Worker processes. When one dies (killed for memory, say) all end, and new ones take their place. `exit_code` is
    that of the last one that died; below 0 it is a signal.
    """

    def __init__(self, stages: Stages, store: Store, n_workers: int, gate: Gate | None) -> None:
        self._stages, self._store, self.n_workers, self._gate = stages, store, n_workers, gate
        self._context = fork_or_spawn()
        self.running: dict[Future[StageRun], Stage[object]] = {}
        self.exit_code = 0
        self._start()

    def _start(self) -> None:
        arguments = (self._stages, self._store.root, self._store.run_id, self._gate)
        self._pool = ProcessPoolExecutor(self.n_workers, self._context, _start_worker, arguments)
        self._pool.submit(int)  # forked workers start with the first task: now, while this process has one thread

    def submit(self, stage: Stage[object]) -> None:
        """Runs a stage in a worker that is free."""
        self.running[self._pool.submit(_run_in_worker, stage.key)] = stage

    @property
    def n_free_cores(self) -> int:
        """Of as many cores as there are workers, those that no running stage occupies."""
        return self.n_workers - sum(stage.resources.n_cores for stage in self.running.values())

    def ended(self) -> tuple[list[StageRun], list[Stage[object]]]:
        """Waits for at least one: how stages ended, and the stages that ran when a worker died."""
        done = wait(self.running, return_when=FIRST_COMPLETED).done
        if not any(isinstance(future.exception(), BrokenProcessPool) for future in done):
            runs = [future.result() for future in done]
            for future in done:
                del self.running[future]
            return runs, []
        lost = list(self.running.values())
        self.running.clear()
        processes = self._processes
        self._pool.shutdown()  # terminates those that did not die
        codes = [process.exitcode for process in processes if process.exitcode]
        self.exit_code = next((code for code in codes if code != -signal.SIGTERM), -signal.SIGTERM)
        self._context = SpawnWithoutMain()  # the pool's own threads may still run here
        self._start()
        return [], lost

    @property
    def _processes(self) -> list[BaseProcess]:
        return list((self._pool._processes or {}).values())

    def stop(self) -> None:
        """Ends the workers, whatever they do: the store keeps no half of a result."""
        for process in self._processes:
            process.terminate()
        self._pool.shutdown(cancel_futures=True)


def run_in_processes(
    order: Sequence[Stage[object]], store: Store, n_workers: int, gate: Gate | None = None
) -> Iterator[StageRun]:
    """Starts the workers, keeps each busy with the first stage of the order that is ready, and yields how stages ended.

    When a worker dies, the stages that ran are run again one by one, to find out which of them it was. When a budget is
    reached, no further stage is begun, and BudgetReached raised when those that run have ended.
    """
    stages = {stage.key: stage for stage in order}
    return _run(stages, _Pool(stages, store, n_workers, gate))


def _run(stages: Stages, pool: _Pool) -> Iterator[StageRun]:
    waiting = dict(stages)
    suspects: list[Stage[object]] = []
    failed: dict[str, StageRun] = {}
    over_budget = ""
    try:
        while waiting or pool.running or suspects:
            runs = _submit_ready(pool, waiting, suspects, failed)
            if pool.running:
                ended, lost = pool.ended()
                runs += ended
                if len(lost) == 1:
                    runs.append(_died(lost[0], pool.exit_code))
                else:
                    suspects += lost
            for run in runs:
                if run.over_budget:
                    over_budget = run.over_budget
                    waiting.clear()
                    continue
                if run.failed:
                    failed[run.key] = run
                yield run
        if over_budget:
            raise BudgetReached(over_budget)
    finally:
        pool.stop()


def _submit_ready(
    pool: _Pool,
    waiting: dict[str, Stage[object]],
    suspects: list[Stage[object]],
    failed: Mapping[str, StageRun],
) -> list[StageRun]:
    """Hands out what is ready; returns how stages ended that need not be tried."""
    runs: list[StageRun] = []
    if suspects:
        if not pool.running:  # one alone: if the worker dies again, it was this one
            pool.submit(suspects.pop())
        return runs
    while stage := _first_ready(waiting, pool):
        del waiting[stage.key]
        if inherited := inherited_failure(stage, failed):
            runs.append(inherited)
            return runs  # its followers are only known to fail once this one is recorded
        pool.submit(stage)
    return runs


def _first_ready(waiting: Mapping[str, Stage[object]], pool: _Pool) -> Stage[object] | None:
    """The first stage of the order none of whose inputs is waiting or running, and for which there is room: a stage
    that wants more cores than there are workers has them all.
    """
    n_free = pool.n_free_cores
    running = {stage.key for stage in pool.running.values()}
    for stage in waiting.values():
        n_cores = min(stage.resources.n_cores, pool.n_workers)
        if n_cores <= n_free and all(
            before.key not in waiting and before.key not in running for before in stage.inputs
        ):
            return stage
    return None


def _died(stage: Stage[object], exit_code: int) -> StageRun:
    return StageRun(stage.key, stage.kind, error=f"{stage.title}: {_how_it_ended(exit_code)}")


def _how_it_ended(exit_code: int) -> str:
    if exit_code >= 0:
        return (
            f"the worker process ended with exit code {exit_code}: a component or a library under it ended its own "
            "process (os._exit), wanted an exception that says why"
        )
    name = signal.Signals(-exit_code).name
    if name == "SIGKILL":
        return (
            f"the worker process was killed ({name}), most likely for want of memory; try run.workers=1 or a smaller "
            "workload"
        )
    return f"the worker process was ended by {name}; after a crash in a library (SIGSEGV, SIGABRT) try run.workers=1"
