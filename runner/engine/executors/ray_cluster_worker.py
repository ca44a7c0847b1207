"""A worker of a Ray cluster: an actor that makes stages, and says first where it is and what is installed there.

Ray loads this module on each node. What it needs of the project is imported within its methods: it must load on a node
whose packages are others, to say so.
"""

import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.engine.outcome import StageRun


@dataclass(frozen=True)
class Probe:
    """A file of the store, and what the command that started the sweep has written into it."""

    path: Path
    content: str


@dataclass(frozen=True)
class Whereabouts:
    """What is found on a node: the versions on which results depend, and whether the store is the same folder."""

    versions: Mapping[str, str]
    has_store: bool


class RayWorker:
    """One place: a process that holds the stages and, from one to the next, the models that they need."""

    def __init__(self, folder: str) -> None:
        """`folder` is the working directory of the command, from which relative paths count."""
        if os.path.isdir(folder):  # noqa: PTH112 - a node that shares the store alone need not have it
            os.chdir(folder)

    def look_around(self, packages: tuple[str, ...], probe: Probe | None) -> Whereabouts:
        """What is found here. `packages` are the user's own, whose code counts."""
        from runner.engine.environment import versions_of_results

        return Whereabouts(versions_of_results(packages), probe is None or _holds(probe))

    def settle_in(self, luggage: bytes, desk: Any, n_threads: int) -> None:
        """Takes the stages and the store, pickled, and begins to pass on warnings. Libraries use so many threads.
        Raises StoreError.
        """
        import logging

        from components.threads import allot_threads
        from runner.engine.executors.ray_cluster_desk import DeskGate, ToDesk
        from runner.engine.worker import Worker

        allot_threads(n_threads)
        logging.getLogger().addHandler(ToDesk(desk))
        _, self._stages, store = pickle.loads(luggage)  # noqa: S301 - what the command has pickled
        self._worker = Worker(store, DeskGate(desk))

    def run(self, key: str) -> "StageRun | Exception":
        """How a stage ended, or what was raised: only that and the key go through Ray."""
        try:
            return self._worker.run(self._stages[key])
        except Exception as error:  # noqa: BLE001 - whatever it is, the command raises it
            return error


def _holds(probe: Probe) -> bool:
    try:
        return probe.path.read_text(encoding="utf-8") == probe.content
    except OSError:
        return False
