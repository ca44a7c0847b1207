"""Workers on the nodes of a Ray cluster. One is started when a ready stage finds no room, and ended when another worker
needs its resources.
"""

import logging
import pickle
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from components.errors import ConfigError
from runner.engine.executors.host_comparison import find_user_packages
from runner.engine.executors.protocol import Stages, iterate_components
from runner.engine.executors.ray_cluster_actors import Actor, Call, end_actor, start_actor
from runner.engine.executors.ray_cluster_nodes import (
    Node,
    NodeAcceptance,
    as_options,
    compute_share,
    has_room,
    live_nodes,
    refusal_prefix,
    subtract_resources,
)
from runner.engine.executors.ray_cluster_worker import RayWorker
from runner.engine.executors.resources import ResourcesByKind, find_resources
from runner.engine.identity import Models
from runner.engine.plugins.plugin_loading import UserCode
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store

log = logging.getLogger(__name__)

_N_STARTS = 3
"""Number of workers that may die on a node before they are ready; then the node is not used."""


@dataclass(eq=False)
class RayWorkerSlot:
    """A worker: its node, the resources that it occupies, its models, and its stage."""

    node: Node
    room: Resources
    actor: Actor
    is_ready: bool = False
    stage: AnyStage | None = None
    models: Models = field(default_factory=frozenset)

    @property
    def is_idle(self) -> bool:
        """True if it can start a stage."""
        return self.is_ready and self.stage is None

    def begin(self, stage: AnyStage) -> Call:
        """Send a stage to the worker."""
        self.stage = stage
        self.models = stage.models or self.models  # loaded models stay until others are needed
        return self.actor.run.remote(stage.key)

    def is_meant_for(self, need: Resources) -> bool:
        """Return True if the worker fits the stage. Workers with a GPU are for stages that need one."""
        return has_room(need, self.room) and bool(need.gpus) == bool(self.room.gpus)


class WorkerSlots:
    """Workers of one sweep. `refusals` holds the nodes that are not used, with the reasons."""

    def __init__(self, stages: Collection[AnyStage], n_workers: int, resources: ResourcesByKind) -> None:
        """0 workers means at most one per core and at most one per stage.

        Raises ConfigError for GPUs or memory that no node has. Logs a warning for stages that need more cores than any
        node has.
        """
        self.all: list[RayWorkerSlot] = []
        self.arriving: dict[Call, RayWorkerSlot] = {}
        """Workers that are not ready, by the call that each is running."""
        self.refusals: dict[str, str] = {}
        self._resources = resources
        self._pickled_more: list[object] = []
        """Stages of each `extend`, as Ray's references to bytes."""
        self._n_workers = n_workers
        self._max_workers = n_workers or len(stages)
        self._n_deaths: Counter[str] = Counter()
        self.look()
        self._share = compute_share(self.nodes.values(), n_workers)
        self._check_resources(stages)

    def open(self, stages: Stages, store: Store, driver: Actor) -> None:
        """Pickle the input of workers, and write the probe of the store.

        Raises StoreError if the probe cannot be written.
        """
        import ray

        code = UserCode(iterate_components(stages))
        self._driver, self._pickled_work = driver, ray.put(pickle.dumps((code, stages, store)))
        self._acceptance = NodeAcceptance(stages.values(), store)
        self._acceptance.open()

    def extend(self, stages: Stages) -> bool:
        """Send more stages to all workers, also to those that start later.

        Returns False if nodes would have to be accepted again. Raises ConfigError for GPUs or memory that no node has.
        """
        import ray

        if not set(find_user_packages(stages.values())) <= set(self._acceptance.packages):
            return False
        self._check_resources(stages.values())
        self._max_workers = max(self._max_workers, self._n_workers or len(stages))
        self._pickled_more.append(ray.put(pickle.dumps((UserCode(iterate_components(stages)), stages))))
        for slot in self.all:
            slot.actor.extend.remote(self._pickled_more[-1])
        return True

    def look(self) -> None:
        """Update the nodes. Ends idle workers on nodes that left; busy ones end when their loss is reported."""
        self.nodes = live_nodes()
        for slot in [slot for slot in self.all if slot.is_idle and slot.node.node_id not in self.nodes]:
            self.end(slot)

    def close(self) -> None:
        """Kill all workers, and remove the probe that accepts nodes."""
        for slot in list(self.all):
            self.end(slot)
        self._acceptance.close()

    def needed_resources(self, stage: AnyStage) -> Resources:
        """Return the resources that a worker needs for a stage, with no more cores than the largest node has."""
        requested = find_resources(stage, self._resources)
        return Resources(
            min(requested.cpus or self._share, max(self._max_cpus, 1)), requested.gpus, requested.memory_gb
        )

    @property
    def _max_cpus(self) -> int:
        """Cores of the largest node."""
        return max((node.has.cpus for node in self.nodes.values()), default=0)

    def _check_resources(self, stages: Collection[AnyStage]) -> None:
        """Raise ConfigError for resources that no node has."""
        needs = {stage.kind: self.needed_resources(stage) for stage in stages}
        unmet = {
            kind: need
            for kind, need in needs.items()
            if not any(has_room(need, node.has) for node in self.nodes.values())
        }
        if unmet:
            raise ConfigError([_describe_missing(kind, need) for kind, need in unmet.items()])
        requested = {stage.kind: find_resources(stage, self._resources).cpus for stage in stages}
        if reduced := {kind: cpus for kind, cpus in requested.items() if cpus > self._max_cpus}:
            log.warning("%s", _describe_reduced(reduced, self._max_cpus))

    def find_idle(self, need: Resources) -> list[RayWorkerSlot]:
        """Return idle workers that fit. Workers meant for other stages are included only if no better one can be
        started.
        """
        idle = [slot for slot in self.all if slot.is_idle and has_room(need, slot.room)]
        meant = [slot for slot in idle if slot.is_meant_for(need)]
        return meant or ([] if self._could_start(need) else idle)

    def may_have_another(self, need: Resources) -> bool:
        """Return True if another worker is starting or could be started."""
        return any(not slot.is_ready and slot.is_meant_for(need) for slot in self.all) or self._could_start(need)

    def start_workers(self, need: Resources) -> None:
        """Double the number of workers for this need, or start the first. Does nothing while some are starting.

        If no worker fits and there is no room for one, idle workers are replaced.
        """
        meant = [slot for slot in self.all if slot.is_meant_for(need)]
        if all(slot.is_ready for slot in meant):
            for _ in range(max(1, len(meant))):
                if not self.start_one(need):
                    break
        if not any(has_room(need, slot.room) for slot in self.all):
            self._replace_idle(need)

    def start_on_each_node(self, need: Resources) -> None:
        """Start the first workers, one on each node with room."""
        for node in self.nodes.values():
            if node in self._nodes_with_room(need):
                self._start(node, need)

    def start_one(self, need: Resources) -> bool:
        """Start a worker on the node with the most free cores. Returns False if no node has room."""
        nodes = self._nodes_with_room(need)
        if nodes:
            self._start(max(nodes, key=lambda node: self._free_resources(node).cpus), need)
        return bool(nodes)

    def advance_start(self, call: Call) -> None:
        """Advance the start of a worker: it reports its versions, and after acceptance it receives its input."""
        import ray

        slot = self.arriving.pop(call)
        try:
            facts = ray.get(call)
        except ray.exceptions.RayTaskError as error:
            self._refuse(slot.node, _start_error(slot.node, error.cause))
        except ray.exceptions.RayError as error:
            self.end(slot)
            self._n_deaths[slot.node.node_id] += 1
            if self._n_deaths[slot.node.node_id] == _N_STARTS:
                self._refuse(slot.node, _start_error(slot.node, error))
        else:
            if facts is None:
                slot.is_ready = True
            elif refusal := self._acceptance.refusal(slot.node, facts):
                self._refuse(slot.node, refusal)
            else:
                self.arriving[slot.actor.load.remote(self._pickled_work, self._driver, slot.room.cpus)] = slot

    def end(self, slot: RayWorkerSlot) -> None:
        """Kill a worker, ready or not, and release its resources."""
        end_actor(slot.actor)
        self.all.remove(slot)
        self.arriving = {call: each for call, each in self.arriving.items() if each is not slot}

    def _refuse(self, node: Node, reason: str) -> None:
        self.refusals.setdefault(node.node_id, reason)
        for slot in self._find_slots(node):
            if not slot.is_ready:
                self.end(slot)

    def _could_start(self, need: Resources) -> bool:
        return bool(self._nodes_with_room(need))

    def _nodes_with_room(self, need: Resources) -> list[Node]:
        if len(self.all) >= self._max_workers:
            return []
        return [node for node in self._usable_nodes() if has_room(need, self._free_resources(node))]

    def _usable_nodes(self) -> Iterator[Node]:
        return (node for node_id, node in self.nodes.items() if node_id not in self.refusals)

    def _find_slots(self, node: Node) -> list[RayWorkerSlot]:
        return [slot for slot in self.all if slot.node.node_id == node.node_id]

    def _free_resources(self, node: Node) -> Resources:
        return subtract_resources(node.has, (slot.room for slot in self._find_slots(node)))

    def _replace_idle(self, need: Resources) -> None:
        """End idle workers, first those without models, until a node has room for another worker, and start it."""
        for node in self._usable_nodes():
            idle_here = sorted(
                (slot for slot in self._find_slots(node) if slot.is_idle), key=lambda slot: len(slot.models)
            )
            busy = (slot.room for slot in self._find_slots(node) if slot not in idle_here)
            if has_room(need, subtract_resources(node.has, busy)):
                for slot in [*idle_here, *(slot for slot in self.all if slot.is_idle and slot not in idle_here)]:
                    if self._could_start(need):
                        break
                    self.end(slot)
                self.start_one(need)
                return

    def _start(self, node: Node, room: Resources) -> None:
        actor = start_actor(RayWorker, node.node_id, as_options(room), str(Path.cwd()))
        for more in self._pickled_more:
            actor.extend.remote(more)
        slot = RayWorkerSlot(node, room, actor)
        self.all.append(slot)
        self.arriving[actor.node_facts.remote(self._acceptance.packages, self._acceptance.probe)] = slot


def _describe_missing(kind: str, need: Resources) -> str:
    needed = ", ".join(f"{name}: {value:g}" for name, value in vars(need).items() if value)
    return (
        f"executor.resources.{kind}: got {{{needed}}}, which no node of the Ray cluster has (see `ray status`). "
        "Start a larger node, or request less."
    )


def _describe_reduced(requested: Mapping[str, int], max_cpus: int) -> str:
    kinds = ", ".join(f"{kind} {cpus}" for kind, cpus in requested.items())
    return (
        f"executor.resources: no node of the Ray cluster has enough cores (cpus of {kinds}; the largest node has "
        f"{max_cpus}). Such a stage takes all cores of a node, and waits until they are free"
    )


def _start_error(node: Node, error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (
        f"{refusal_prefix(node)}: no worker could be started there: {lines[0]} {lines[-1] if lines[1:] else ''}".strip()
    )
