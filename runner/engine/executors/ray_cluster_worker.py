"""A worker of a Ray cluster: an actor that computes stages, after it has reported its versions and its store.

Ray loads this module on each node. Its methods import the project inside their bodies, because the module must load
even on a node with other packages, to report them.
"""

import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.engine.executors.ray_cluster_actors import Actor
    from runner.engine.outcome import StageRun
    from runner.engine.stage import AnyStage


@dataclass(frozen=True)
class Probe:
    """A file in the store and the content that the driver wrote into it."""

    path: Path
    content: str


@dataclass(frozen=True)
class NodeFacts:
    """Facts about a node: the versions on which results depend, and whether its store is the same folder."""

    versions: Mapping[str, str]
    has_store: bool


class RayWorker:
    """A worker process that holds the stages, and keeps its models until other models are needed."""

    def __init__(self, folder: str) -> None:
        """`folder` is the working directory of the command. Relative paths start there."""
        if os.path.isdir(folder):  # noqa: PTH112 - a node that shares only the store may lack it
            os.chdir(folder)
        self._stages: dict[str, AnyStage] = {}
        self._pickled: list[bytes] = []

    def node_facts(self, packages: tuple[str, ...], probe: Probe | None) -> NodeFacts:
        """Return the facts about this node. Results depend on the code of the user's `packages`."""
        from runner.engine.environment import versions_to_match

        return NodeFacts(versions_to_match(packages), probe is None or _holds(probe))

    def load(self, pickled_work: bytes, driver: "Actor", n_threads: int) -> None:
        """Unpickle the stages and the store, and forward warnings from now on. Libraries use `n_threads` threads.

        Raises StoreError if the store cannot be opened from this node.
        """
        import logging

        from components.secrets.output import mask_output
        from components.threads import allot_threads
        from runner.engine.executors.ray_driver_actor import ForwardingLimiter, ForwardingLogHandler
        from runner.engine.worker import Worker

        mask_output()
        allot_threads(n_threads)
        logging.getLogger().addHandler(ForwardingLogHandler(driver))
        _, stages, store = pickle.loads(pickled_work)  # noqa: S301 - pickled by the command
        self._stages.update(stages)
        self._worker = Worker(store, ForwardingLimiter(driver))

    def extend(self, pickled_stages: bytes) -> None:
        """Keep more stages, which are unpickled for the next `run`."""
        self._pickled.append(pickled_stages)

    def run(self, key: str) -> "StageRun | Exception":
        """Return the outcome of a stage, or the error raised. Only the key and this value go through Ray."""
        try:
            while self._pickled:
                _, stages = pickle.loads(self._pickled[0])  # noqa: S301 - pickled by the command
                self._stages.update(stages)
                del self._pickled[0]
            return self._worker.run(self._stages[key])
        except Exception as error:  # noqa: BLE001 - the command raises it
            return error


def _holds(probe: Probe) -> bool:
    try:
        return probe.path.read_text(encoding="utf-8") == probe.content
    except OSError:
        return False
