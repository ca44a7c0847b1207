"""The nodes of a Ray cluster: what each has to offer, and which of them results may come from."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runner.engine.environment import versions_of_results
from runner.engine.executors.foreign_results import differences, users_packages
from runner.engine.executors.leftovers import clear_probes, new_probe
from runner.engine.executors.ray_cluster_worker import Probe, Whereabouts
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store
from runner.engine.store.part_files import keeping

_BYTES_PER_GB = 10**9
_ROUNDING = 1e-6
"""Fractions of GPUs do not quite add up."""


@dataclass(frozen=True)
class Node:
    """A machine of the cluster. `has` is what it offers to Ray."""

    node_id: str
    address: str
    has: Resources


def live_nodes() -> dict[str, Node]:
    """Those that are up at this moment, by their ids."""
    import ray

    return {str(node["NodeID"]): _node(node) for node in ray.nodes() if node["Alive"]}


def _node(described: Mapping[str, object]) -> Node:
    has = described["Resources"]
    assert isinstance(has, Mapping), "Ray describes it so"
    resources = Resources(int(has.get("CPU", 0)), float(has.get("GPU", 0)), float(has.get("memory", 0)) / _BYTES_PER_GB)
    return Node(str(described["NodeID"]), str(described["NodeManagerAddress"]), resources)


def fits(need: Resources, room: Resources) -> bool:
    """Whether there is as much room as is needed."""
    return (
        need.cpus <= room.cpus and need.gpus <= room.gpus + _ROUNDING and need.memory_gb <= room.memory_gb + _ROUNDING
    )


def without(room: Resources, taken: Iterable[Resources]) -> Resources:
    """What is left of it."""
    for each in taken:
        room = Resources(room.cpus - each.cpus, room.gpus - each.gpus, room.memory_gb - each.memory_gb)
    return room


def as_options(need: Resources) -> dict[str, float]:
    """How Ray is asked for it."""
    return {"num_cpus": need.cpus, "num_gpus": need.gpus, "memory": int(need.memory_gb * _BYTES_PER_GB)}


def share_of(nodes: Iterable[Node], n_workers: int) -> int:
    """Cores of each worker where so many are to have equal shares of the nodes, at least one; 0 workers are one for
    each core.
    """
    cpus = [node.has.cpus for node in nodes]
    shares = range(sum(cpus) // n_workers if n_workers else 1, 1, -1)
    return next((share for share in shares if sum(n // share for n in cpus) >= n_workers), 1)


class Acceptance:
    """Whether results may come from a node: it has the same versions, and the same store."""

    def __init__(self, stages: Iterable[AnyStage], store: Store) -> None:
        self.packages = users_packages(stages)
        path = new_probe(store)
        self.probe = Probe(path, uuid.uuid4().hex) if path else None
        self._store = store
        self._versions = versions_of_results(self.packages)

    def open(self) -> None:
        """Puts a file into the store that nodes are asked for: if it is a folder. Raises StoreError."""
        if self.probe is None:
            return
        with keeping("a file that its nodes look for", self._store.root):
            clear_probes(self._store)
            self.probe.path.write_text(self.probe.content, encoding="utf-8")

    def close(self) -> None:
        """Takes it away again."""
        if self.probe:
            self.probe.path.unlink(missing_ok=True)

    def refusal(self, node: Node, found: Whereabouts) -> str:
        """Why a node is not used; "" if it may be."""
        if others := differences(found.versions, self._versions):
            return (
                f"{not_used(node)}: {'; '.join(others)}. Results depend on these: install the same versions on all "
                "nodes, or take the node out of the cluster"
            )
        if not found.has_store:
            return (
                f"{not_used(node)}: run.store_dir {self._store.root} is not the same folder on node {node.address}. "
                "Give one that all nodes share and find at the same path, such as a folder on NFS"
            )
        return ""


def not_used(node: Node) -> str:
    """What the reason is added to."""
    return f"node {node.address} of the Ray cluster is not used"
