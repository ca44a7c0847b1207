"""The protocol of executors: an executor starts workers, hands them stages, and reports the outcomes.

`runner.engine.schedule` decides which stage is next, which stages fail with it, and how often a stage is tried.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import ClassVar, Protocol

from components.openai_server.limiter import Limiter
from runner.engine.outcome import StageRun
from runner.engine.stage import AnyStage
from runner.engine.store import Store

Stages = Mapping[str, AnyStage]
Watch = Callable[[AnyStage, int, int], None]
"""Callback for the progress of a long stage. Takes the stage, the steps done and all steps."""

N_LOSSES = 3
"""Number of workers that may die with a stage before it fails, because it probably kills them."""


@dataclass(frozen=True)
class LostStage:
    """A stage that was lost because its worker died.

    `why` tells users how the worker died and what to do. It follows "TITLE: " in a message.

    If we cannot tell which stage killed a worker, none is reported as lost.
    """

    key: str
    why: str


class StartPriority(IntEnum):
    """Suitability of starting a stage now. The stage with the largest value starts first."""

    NONE = 0
    """All workers are busy, or too few of the needed resources are free."""
    AGAIN = 1
    """A worker is free, and would load models that another worker holds. Better than leaving it idle."""
    NEW = 2
    """A worker is free, and would load models that no worker holds."""
    FAR = 3
    """As READY, but another worker, which is busy, has decoded the stage's inputs: see `Workers.near`."""
    READY = 4
    """A free worker holds its models, or it needs none."""


class Workers(Protocol):
    """Workers that an executor has started."""

    def extend(self, stages: Stages) -> bool:
        """Take more stages, by key, while no stage runs. Returns False if they need other workers."""
        return False

    def start_priority(self, stage: AnyStage) -> StartPriority:
        """Rate how well the stage could start now.

        Stages of one kind with equal models that are near to the same worker get the same answer.
        """

    def near(self, stage: AnyStage) -> Hashable:
        """Return the worker that has decoded the stage's inputs, and cached what it computed for similar stages.

        The scheduler asks once all inputs are available. None if the worker makes no difference.
        """
        return None

    def submit(self, stage: AnyStage) -> None:
        """Assign a stage for which there is room to the most suitable worker.

        The worker then limits the threads of libraries: see `components.threads.allot_threads`.
        """

    def start_submitted(self) -> None:
        """Start the submitted stages that have not started. No further stage is submitted before one ends."""
        return  # executors that start stages in `submit` have nothing left to start

    def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
        """Wait until a stage ends, and return the outcomes. Returns nothing if only more room became available.

        Raises errors that a worker could not return as an outcome, such as a StoreError. Raises an error if no worker
        is left.
        """

    def stop(self) -> None:
        """Kill the workers. The store never keeps an incomplete result. May be called again."""


class Executor(Protocol):
    """A way to run stages: a frozen dataclass that the configuration chooses by `executor`. It changes no result."""

    is_axis: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Return one message per error in its settings and per missing package."""

    def ignored_settings(self) -> dict[str, str]:
        """Return settings that other executors use and this one ignores, by dotted name, with the reason.

        A preset for all executors may contain them. Given explicitly for this executor, they are errors.
        """
        return {}

    def folder_problems(self, folder: Path) -> list[str]:
        """Return one message per reason why workers cannot have their files in the folder of the sweep's results."""
        return []

    def start(
        self, stages: Stages, store: Store, limiter: Limiter | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        """Start workers that hold all stages (by key) and the store. To run a stage, only its key is sent.

        `n_workers` is the number of workers; 0 lets the executor choose. Every request to a model passes `limiter`.
        Long stages call `watch` where that is possible. `folder` holds the sweep's results, and workers may write
        logs there.
        """


def iterate_components(stages: Stages) -> Iterator[object]:
    """Yield the components of all stages. A component of several stages is yielded several times."""
    return (part for stage in stages.values() for part in stage.components())


def list_modules(stages: Stages) -> set[str]:
    """Return the names of the modules that define the components."""
    return {type(part).__module__ for part in iterate_components(stages)}


def defines_in_main(stages: Stages) -> bool:
    """Return True if the main module defines a component, which then exists only in this process."""
    return "__main__" in list_modules(stages)
