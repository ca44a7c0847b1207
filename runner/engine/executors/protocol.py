"""What an executor is: it starts places where stages run, hands them stages, and says how these ended.

Which stage is next, what fails with it and how often a stage is tried is the schedule's: see `runner.engine.schedule`.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import ClassVar, Protocol

from components.openai_server.gate import Gate
from runner.engine.outcome import StageRun
from runner.engine.stage import AnyStage
from runner.engine.store import Store

Stages = Mapping[str, AnyStage]
Watch = Callable[[AnyStage, int, int], None]
"""Told of a long stage that so many of so many steps are done."""

N_LOSSES = 3
"""A stage under which so many workers died is given up: it is what kills them."""


@dataclass(frozen=True)
class Lost:
    """A stage whose worker died under it. `why` says for users how it died and what to do, after "TITLE: ". Of a stage
    whose worker nobody can tell, none is said to be lost: it merely ran beside it.
    """

    key: str
    why: str


class Room(IntEnum):
    """What it would mean to begin a stage now; of several stages the one with the largest is begun first."""

    NONE = 0
    """All places are taken, or too little of what it needs is free."""
    AGAIN = 1
    """There is a place, which would load models that another one holds: better than to stand idle."""
    NEW = 2
    """There is a place, which would load models that none holds."""
    FAR = 3
    """There is a place that holds its models, or it needs none; but it is near to another one: see `Workers.near`."""
    READY = 4
    """There is a place that holds its models, or it needs none."""


class Workers(Protocol):
    """Places where stages run, as an executor started them."""

    def room_for(self, stage: AnyStage) -> Room:
        """Whether it can begin now. Stages of one kind that have equal models and are near to the same place have the
        same room.
        """

    def near(self, stage: AnyStage) -> Hashable:
        """The place that has decoded what this stage reads, and remembers what it worked out for others like it; asked
        when all that it reads is there. None where this is all the same.
        """
        return None

    def submit(self, stage: AnyStage) -> None:
        """Takes a stage for which there is room, for the place that suits it best. That tells libraries how many cores
        it has: `components.threads.allot_threads`.
        """

    def hand_out(self) -> None:
        """Nothing more is submitted before something ended: what was, and has not begun yet, begins."""
        return  # who begins what was submitted at once has held nothing back

    def ended(self) -> Sequence[StageRun | Lost]:
        """Waits until a stage ended, and says how; or until there is more room, and says nothing.

        Raises what a worker could not return, such as a StoreError, and what leaves no worker at all.
        """

    def stop(self) -> None:
        """Ends the workers, whatever they do: the store keeps no half of a result. May be called again."""


class Executor(Protocol):
    """A way to run stages: a frozen dataclass that `executor` in the configuration chooses. It changes no result."""

    is_axis: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Mistakes of its settings, packages that are missing among them."""

    def unheeded(self) -> dict[str, str]:
        """Settings, by their dotted names, that count with other executors and not with this one, and why. They may
        come from a preset for all of them; given for this one they are mistakes.
        """
        return {}

    def start(
        self, stages: Stages, store: Store, gate: Gate | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        """Starts workers that hold all stages, by key, and what these read: to hand out a stage is to send its key.

        `n_workers` is how many there are, 0 for as many as the executor thinks right. `gate` is passed by all attempts
        to ask a model. `watch` is called from long stages where that is possible. `folder` is that of the sweep's
        results: what workers say may be kept in it.
        """


def components_of(stages: Stages) -> Iterator[object]:
    """The components of all stages; what several stages share comes several times."""
    return (part for stage in stages.values() for part in stage.components())


def modules_of(stages: Stages) -> set[str]:
    """Names of the modules that define the components."""
    return {type(part).__module__ for part in components_of(stages)}


def defines_in_main(stages: Stages) -> bool:
    """Whether a component is of the program's main module: what that defines is there in this process alone."""
    return "__main__" in modules_of(stages)
