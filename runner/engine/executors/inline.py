"""Runs stages one after another in this process."""

from collections.abc import Callable, Iterator, Sequence

from components.errors import BudgetReached
from components.openai_server.gate import Gate
from runner.engine.outcome import StageRun, inherited_failure
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.engine.worker import Worker

Watch = Callable[[Stage[object], int, int], None]


def run_inline(
    order: Sequence[Stage[object]], store: Store, watch: Watch, gate: Gate | None = None
) -> Iterator[StageRun]:
    """Yields how each stage ended. Raises BudgetReached."""
    worker = Worker(store, gate)
    failed: dict[str, StageRun] = {}
    for stage in order:
        run = inherited_failure(stage, failed) or worker.run(stage, _watching(stage, watch))
        if run.over_budget:
            raise BudgetReached(run.over_budget)
        if run.failed:
            failed[stage.key] = run
        yield run


def _watching(stage: Stage[object], watch: Watch) -> Callable[[int, int], None]:
    return lambda done, total: watch(stage, done, total)
