"""Who runs the stages of a plan: this process, or several."""

from collections.abc import Iterator, Sequence

from components.openai_server.gate import Gate
from runner.engine.executors.inline import Watch, run_inline
from runner.engine.executors.processes import run_in_processes
from runner.engine.outcome import StageRun
from runner.engine.stage import Stage
from runner.engine.store import Store

__all__ = ["Watch", "run_stages"]


def run_stages(
    order: Sequence[Stage[object]], store: Store, n_workers: int, watch: Watch, gate: Gate | None = None
) -> Iterator[StageRun]:
    """Runs stages, inputs before what needs them, and yields how each ended. One that needs a failed one fails with it.

    `gate` is passed by all attempts to ask a model. Raises BudgetReached, once what was under way has ended, if it
    lets no more of them through.

    `watch(stage, done, all)` is called from long stages; only within this process. What the main module of a program
    defines is only there.
    """
    if n_workers > 1 and len(order) > 1 and not any(_is_of_main(stage) for stage in order):
        return run_in_processes(order, store, n_workers, gate)
    return run_inline(order, store, watch, gate)


def _is_of_main(stage: Stage[object]) -> bool:
    return any(type(part).__module__ == "__main__" for part in stage.components())
