"""python -m tests.runner.engine.executors.ray_scenarios SCENARIO FOLDER: runs stages on the cluster of RAY_ADDRESS, and
writes FOLDER/SCENARIO.json.

It is a separate process, like a user's command, because Ray leaves threads behind in its process.
"""

import json
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from components.errors import BudgetReached, ConfigError
from components.json_value import Json
from runner.engine.executors.ray_cluster import RayCluster
from runner.engine.schedule import PersistentWorkers, run_stages
from runner.engine.spending import Budget, SharedLimiter
from runner.engine.stage import Resources
from runner.engine.stage_run import Run
from runner.engine.store import Store
from tests.runner.engine.executors import ray_stages
from tests.runner.engine.fake_stages import Adder, Sum

ON_CLUSTER = RayCluster("auto")


def together(folder: Path) -> Json:
    """Two workers: stages of two models, then some that end their worker."""
    import ray

    ray.init(log_to_driver=False, logging_level=logging.ERROR)  # a notebook may have done so
    pair: tuple[Sum, ...] = ()
    models: list[Sum] = []
    for n in range(4):  # stages of both models become ready at the same time
        pair = tuple(_noting(folder, n, ray_stages.warn, model, pair) for model in "ab")
        models += pair
    dying = [_noting(folder, 10, ray_stages.die, row=pair), _noting(folder, 11, ray_stages.die_twice, row=pair)]
    follower = Sum(Adder(12), row=(dying[0],))
    beside = [_noting(folder, 20 + n, ray_stages.note_slowly, row=pair) for n in range(8)]
    ended = _ended(folder, [*models, *dying, follower, *beside])
    facts = {
        "fatal": ended.pop(dying[0].key),
        "inherited": ended.pop(follower.key),
        "others": list(ended.values()),
        "unfit": _unfit(folder),
        "kept": _kept(folder),
    }
    assert ray.is_initialized(), "who joined the cluster before leaves it"
    return facts


def coming_and_going(folder: Path) -> Json:
    """Run as many stages in parallel as there are cores. Each ends when a file "go" exists. Then request more than the
    budget allows.
    """
    stages = [_noting(folder, n, ray_stages.note_and_wait) for n in range(12)]
    total = Sum(Adder(1), row=tuple(stages))
    asking = [Sum(Adder(100 + n), row=(total,), compute=ray_stages.ask) for n in range(8)]
    limiter = SharedLimiter(folder / "limits", folder / "spent", Budget(max_requests=3))
    ended: dict[str, str] = {}
    reached = ""
    try:
        for run in run_stages([*stages, total, *asking], Store(folder / "store", "a-run"), ON_CLUSTER, limiter=limiter):
            ended[run.key] = run.error
    except BudgetReached as error:
        reached = str(error)
    return {
        "errors": sorted(set(ended.values())),
        "n_ended": len(ended),
        "total": _result(folder, total),
        "reached": reached,
        "n_requests": limiter.spent.n_requests,
    }


def busy(folder: Path) -> Json:
    """Run a stage that spends a minute in a library call."""
    try:
        return _ended(folder, [_noting(folder, 0, ray_stages.sleep_in_c)], n_workers=1)
    except KeyboardInterrupt:
        sys.exit(130)


def _kept(folder: Path) -> list[str]:
    """Return the errors of two lists of stages that the same workers run one after another."""
    orders = [[_noting(folder, first + n, ray_stages.note_slowly) for n in range(6)] for first in (30, 40)]
    errors: list[str] = []
    with PersistentWorkers(Store(folder / "store", "a-run"), ON_CLUSTER, 2, None, folder) as workers:
        for order in orders:
            with workers.running(order) as ended:
                errors += [run.error for run in ended]
    return errors


def _unfit(folder: Path) -> str:
    """Return the error for resources that no node has."""
    executor = RayCluster("auto", {"sum": Resources(gpus=0.5)})
    try:
        list(run_stages([Sum(Adder(1000))], Store(folder / "store", "a-run"), executor))
    except ConfigError as error:
        return str(error)
    return ""


def _noting(
    folder: Path, number: int, compute: Callable[[Sum, Run], int], model: str = "", row: tuple[Sum, ...] = ()
) -> Sum:
    (folder / "notes").mkdir(exist_ok=True)
    return Sum(Adder(number, model, calls=str(folder / "notes")), row=row, compute=compute)


def _ended(folder: Path, stages: Sequence[Sum], n_workers: int = 2) -> dict[str, str]:
    """The error of each stage, "" for those that have a result."""
    store = Store(folder / "store", "a-run")
    return {run.key: run.error for run in run_stages(stages, store, ON_CLUSTER, n_workers)}


def _result(folder: Path, stage: Sum) -> int:
    entry = Store(folder / "store").find(stage.kind, stage.key)
    assert entry is not None
    return stage.codec.decode(entry.parts())


class _Lines(logging.Handler):
    """Writes log lines into a file, so that the test sees them immediately."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{record.getMessage()}\n")


if __name__ == "__main__":
    scenario, place = sys.argv[1], Path(sys.argv[2])
    logging.getLogger().addHandler(_Lines(place / "lines"))
    facts = {"together": together, "coming_and_going": coming_and_going, "busy": busy}[scenario](place)
    (place / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
