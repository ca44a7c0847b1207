"""Start and end of actors. Ray never restarts a worker, because the schedule decides what happens to its stage."""

from collections.abc import Mapping
from typing import Any

Actor = Any
"""Handle of an actor, which Ray leaves untyped."""

Call = Any
"""Reference to the future result of an actor's method."""


def start_actor(cls: type, node_id: str, options: Mapping[str, float], *arguments: object) -> Actor:
    """Start an actor on a node as soon as the node has room for it. Returns immediately."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    on_node = NodeAffinitySchedulingStrategy(node_id, soft=False)
    once = {"max_restarts": 0, "max_task_retries": 0}
    return ray.remote(cls).options(**{**once, **options}, scheduling_strategy=on_node).remote(*arguments)


def end_actor(actor: Actor) -> None:
    """Kill the process of an actor."""
    import ray

    ray.kill(actor)
