"""The workers of a Ray cluster as the schedule sees them: which stage each of them makes, and what became of it."""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress

from components.errors import ComponentError, ConfigError
from components.openai_server.gate import Gate
from runner.console.endings import endings_deferred
from runner.engine.executors.protocol import Lost, Room, Stages, Workers
from runner.engine.executors.ray_cluster_actors import Call, end_actor, start_actor
from runner.engine.executors.ray_cluster_desk import Desk, log_again
from runner.engine.executors.ray_cluster_places import Places, RayPlace
from runner.engine.executors.resources import ByKind
from runner.engine.outcome import StageRun
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store

log = logging.getLogger(__name__)

_LOOK_S = 1.0
"""So often it is seen which nodes came and went."""

_WARN_AFTER_S = 10.0
_NODES_MAY_COME_S = 60.0
"""So long a stage waits for a node to run on when all have gone."""


class RayWorkers(Workers):
    """Workers on the nodes of the cluster that this process has joined."""

    def __init__(self, stages: Stages, store: Store, gate: Gate, n_workers: int, resources: ByKind) -> None:
        """Returns when the first worker is ready. Raises ConfigError if there is none that can be used."""
        import ray

        self._running: dict[Call, RayPlace] = {}
        self._lacking: set[Resources] = set()
        self._n_refusals_said = 0
        self._looked_at = time.monotonic()
        self._places = Places(stages.values(), n_workers, resources)
        again = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}  # what it knows is in files
        self._desk = start_actor(Desk, ray.get_runtime_context().get_node_id(), again, gate)
        self._news: Call = self._desk.news.remote()
        try:
            self._places.open(stages, store, self._desk)
            self._start_first(self._places.need_of(next(iter(stages.values()))))
        except BaseException:
            with endings_deferred():
                self.stop()
            raise

    def _start_first(self, need: Resources) -> None:
        self._places.start_on_each_node(need)
        started, has_warned = time.monotonic(), False
        while not self._n_ready:
            if not self._places.arriving and not self._places.start_one(need):
                raise ConfigError(
                    list(self._places.refusals.values()) or "executor: the Ray cluster has no core for us"
                )
            self._happened()
            if time.monotonic() - started > _WARN_AFTER_S and not has_warned:
                log.warning("waiting for room in the Ray cluster, which others may use: see `ray status`")
                has_warned = True
        self._say_refusals()

    def room_for(self, stage: AnyStage) -> Room:
        need = self._places.need_of(stage)
        idle = self._places.idle_for(need)
        if any(stage.models <= place.models for place in idle):
            return Room.READY
        if not idle or (all(place.models for place in idle) and self._places.may_have_another(need)):
            self._lacking.add(need)
            return Room.NONE
        return Room.AGAIN if any(stage.models <= place.models for place in self._places.all) else Room.NEW

    def submit(self, stage: AnyStage) -> None:
        idle = self._places.idle_for(self._places.need_of(stage))
        place = max(idle, key=lambda place: (stage.models <= place.models, not place.models))
        self._running[place.begin(stage)] = place

    def ended(self) -> Sequence[StageRun | Lost]:
        since = time.monotonic()
        while True:
            n_ready = self._n_ready
            if time.monotonic() - self._looked_at > _LOOK_S:  # however many stages end meanwhile
                self._places.look()
                self._looked_at = time.monotonic()
            for need in self._lacking:
                self._places.start_for(need)
            ended = self._happened()
            self._say_refusals()
            if ended or self._n_ready > n_ready:
                self._lacking.clear()
                return ended
            if self._running or self._places.arriving:
                since = time.monotonic()
            elif time.monotonic() - since > _NODES_MAY_COME_S:
                raise ComponentError(self._nothing_left())

    def stop(self) -> None:
        import ray

        self._places.close()
        with suppress(ray.exceptions.RayError):  # nobody is left to say anything
            self._desk.close.remote()
            log_again(ray.get(self._news, timeout=_LOOK_S))
        end_actor(self._desk)

    @property
    def _n_ready(self) -> int:
        return sum(place.is_ready for place in self._places.all)

    def _happened(self) -> list[StageRun | Lost]:
        """Waits a moment for anything to happen; returns how stages ended."""
        import ray

        calls = [*self._running, *self._places.arriving, self._news]
        done, others = ray.wait(calls, timeout=_LOOK_S)
        if done and others:
            done += ray.wait(others, num_returns=len(others), timeout=0)[0]
        ended: list[StageRun | Lost] = []
        for call in done:
            if call == self._news:
                log_again(ray.get(call))
                self._news = self._desk.news.remote()
            elif call in self._running:
                ended.append(self._ended(self._running.pop(call), call))
            elif call in self._places.arriving:  # else it was ended meanwhile
                self._places.arrived(call)
        return ended

    def _ended(self, place: RayPlace, call: Call) -> StageRun | Lost:
        """Raises what the worker could not return."""
        import ray

        assert place.stage is not None, "it was begun"
        try:
            run: StageRun | Exception = ray.get(call)
        except ray.exceptions.RayError:
            self._places.end(place)
            self._places.look()
            return Lost(place.stage.key, self._why(place))
        if isinstance(run, Exception):
            raise run
        place.stage = None
        return run

    def _why(self, place: RayPlace) -> str:
        if place.node.node_id not in self._places.nodes:
            return f"the node {place.node.address}, on which it ran, left the Ray cluster"
        return (
            f"the worker process on node {place.node.address} was killed, most likely for want of memory, or crashed "
            "in a library; give such stages more memory by executor.resources, or see Ray's logs on that node"
        )

    def _say_refusals(self) -> None:
        for why in list(self._places.refusals.values())[self._n_refusals_said :]:
            log.warning("%s", why)
        self._n_refusals_said = len(self._places.refusals)

    def _nothing_left(self) -> str:
        refused = "".join(f"\n{why}" for why in self._places.refusals.values())
        return (
            "no node of the Ray cluster is left on which the next stage could run: see `ray status`. What is finished "
            f"is kept: start nodes, then give the same command again{refused}"
        )
