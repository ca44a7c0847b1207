"""How actors are started and ended. Nobody but this project starts one again: what becomes of a stage whose worker died
is for the schedule to say.
"""

from collections.abc import Mapping
from typing import Any

Actor = Any
"""A handle on an actor: Ray gives it no type."""

Call = Any
"""The reference to what a call of an actor's method will return."""


def start_actor(cls: type, node_id: str, options: Mapping[str, float], *arguments: object) -> Actor:
    """Starts one on a node, as soon as there is room for it; returns at once."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node_id, soft=False)
    once = {"max_restarts": 0, "max_task_retries": 0}
    return ray.remote(cls).options(**{**once, **options}, scheduling_strategy=there).remote(*arguments)


def end_actor(actor: Actor) -> None:
    """Ends its process, whatever it does."""
    import ray

    ray.kill(actor)
