"""Nodes of a Ray cluster: their resources, and whether results may come from them."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runner.engine.environment import versions_to_match
from runner.engine.executors.host_comparison import differences, find_user_packages
from runner.engine.executors.leftovers import clear_probes, new_probe
from runner.engine.executors.ray_cluster_worker import NodeFacts, Probe
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store
from runner.engine.store.part_files import storage_errors

_BYTES_PER_GB = 10**9
_ROUNDING = 1e-6
"""Tolerance for sums of fractions of GPUs, which are not exact."""


@dataclass(frozen=True)
class Node:
    """A machine of the cluster. `has` holds the resources that it offers to Ray."""

    node_id: str
    address: str
    has: Resources


def live_nodes() -> dict[str, Node]:
    """Return the nodes that are up now, by id."""
    import ray

    return {str(node["NodeID"]): _node(node) for node in ray.nodes() if node["Alive"]}


def _node(described: Mapping[str, object]) -> Node:
    has = described["Resources"]
    assert isinstance(has, Mapping), "Ray describes resources by a mapping"
    resources = Resources(int(has.get("CPU", 0)), float(has.get("GPU", 0)), float(has.get("memory", 0)) / _BYTES_PER_GB)
    return Node(str(described["NodeID"]), str(described["NodeManagerAddress"]), resources)


def has_room(need: Resources, room: Resources) -> bool:
    """Return True if the room is at least the need."""
    return (
        need.cpus <= room.cpus and need.gpus <= room.gpus + _ROUNDING and need.memory_gb <= room.memory_gb + _ROUNDING
    )


def subtract_resources(room: Resources, taken: Iterable[Resources]) -> Resources:
    """Return the room that is left without the `taken` resources."""
    for each in taken:
        room = Resources(room.cpus - each.cpus, room.gpus - each.gpus, room.memory_gb - each.memory_gb)
    return room


def as_options(need: Resources) -> dict[str, float]:
    """Return the resources as options of Ray."""
    return {"num_cpus": need.cpus, "num_gpus": need.gpus, "memory": int(need.memory_gb * _BYTES_PER_GB)}


def compute_share(nodes: Iterable[Node], n_workers: int) -> int:
    """Return the cores per worker, at least 1, if `n_workers` equal shares divide the nodes. 0 means one worker per
    core.
    """
    cpus = [node.has.cpus for node in nodes]
    shares = range(sum(cpus) // n_workers if n_workers else 1, 1, -1)
    return next((share for share in shares if sum(n // share for n in cpus) >= n_workers), 1)


class NodeAcceptance:
    """The decision whether results may come from a node: it needs the same versions and the same store."""

    def __init__(self, stages: Iterable[AnyStage], store: Store) -> None:
        self.packages = find_user_packages(stages)
        path = new_probe(store)
        self.probe = Probe(path, uuid.uuid4().hex) if path else None
        self._store = store
        self._versions = versions_to_match(self.packages)

    def open(self) -> None:
        """Write the probe into the store if it is a shared folder. Raises StoreError if it cannot be written."""
        if self.probe is None:
            return
        with storage_errors("the probe for its nodes", self._store.root):
            clear_probes(self._store)
            self.probe.path.write_text(self.probe.content, encoding="utf-8")

    def close(self) -> None:
        if self.probe:
            self.probe.path.unlink(missing_ok=True)

    def refusal(self, node: Node, facts: NodeFacts) -> str:
        """Return the reason why a node is not used, "" if it is used."""
        if mismatches := differences(facts.versions, self._versions):
            return (
                f"{refusal_prefix(node)}: {'; '.join(mismatches)}. Results depend on these. Install the same "
                "versions on all nodes, or take the node out of the cluster."
            )
        if not facts.has_store:
            return (
                f"{refusal_prefix(node)}: run.store_dir {self._store.root} is not the same folder on node "
                f"{node.address}. Choose a folder that all nodes share at the same path, such as one on NFS"
            )
        return ""


def refusal_prefix(node: Node) -> str:
    """Return the beginning of a message that a node is not used."""
    return f"node {node.address} of the Ray cluster is not used"
