"""Workers of a Ray cluster as the scheduler sees them: their stages and outcomes."""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress

from components.errors import ComponentError, ConfigError
from components.openai_server.limiter import Limiter
from runner.console.ending_signals import defer_ending_signals
from runner.engine.executors.protocol import LostStage, Stages, StartPriority, Workers
from runner.engine.executors.ray_cluster_actors import Call, end_actor, start_actor
from runner.engine.executors.ray_driver_actor import DriverActor, log_worker_lines
from runner.engine.executors.ray_worker_slots import RayWorkerSlot, WorkerSlots
from runner.engine.executors.resources import ResourcesByKind
from runner.engine.outcome import StageRun
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store

log = logging.getLogger(__name__)

_LOOK_S = 1.0
"""Seconds between checks of the nodes in the cluster."""

_NO_CORE = "executor: the Ray cluster has no free core. Wait for other jobs, or add a node (`ray status`)"
_WARN_AFTER_S = 10.0
_WAIT_FOR_NODES_S = 60.0
"""Seconds to wait for a node after all nodes have left."""


class RayWorkers(Workers):
    """Workers on the nodes of the cluster that this process has joined."""

    def __init__(
        self, stages: Stages, store: Store, limiter: Limiter, n_workers: int, resources: ResourcesByKind
    ) -> None:
        """Return when the first worker is ready. Raises ConfigError if no worker can be used."""
        import ray

        self._running: dict[Call, RayWorkerSlot] = {}
        self._unmet_needs: set[Resources] = set()
        self._n_refusals_logged = 0
        self._looked_at = time.monotonic()
        self._slots = WorkerSlots(stages.values(), n_workers, resources)
        restart_options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}  # its state is in files
        self._driver = start_actor(DriverActor, ray.get_runtime_context().get_node_id(), restart_options, limiter)
        self._news: Call = self._driver.news.remote()
        try:
            self._slots.open(stages, store, self._driver)
            self._start_first(self._slots.needed_resources(next(iter(stages.values()))))
        except BaseException:
            with defer_ending_signals():
                self.stop()
            raise

    def _start_first(self, need: Resources) -> None:
        self._slots.start_on_each_node(need)
        started, has_warned = time.monotonic(), False
        while not self._n_ready:
            if not self._slots.arriving and not self._slots.start_one(need):
                raise ConfigError(list(self._slots.refusals.values()) or _NO_CORE)
            self._wait_for_events()
            if time.monotonic() - started > _WARN_AFTER_S and not has_warned:
                log.warning("waiting for free resources in the Ray cluster; `ray status` shows what is in use")
                has_warned = True
        self._log_refusals()

    def extend(self, stages: Stages) -> bool:
        return self._slots.extend(stages)

    def start_priority(self, stage: AnyStage) -> StartPriority:
        need = self._slots.needed_resources(stage)
        idle = self._slots.find_idle(need)
        if any(stage.models <= slot.models for slot in idle):
            return StartPriority.READY
        if not idle or (all(slot.models for slot in idle) and self._slots.may_have_another(need)):
            self._unmet_needs.add(need)
            return StartPriority.NONE
        return (
            StartPriority.AGAIN if any(stage.models <= slot.models for slot in self._slots.all) else StartPriority.NEW
        )

    def submit(self, stage: AnyStage) -> None:
        idle = self._slots.find_idle(self._slots.needed_resources(stage))
        slot = max(idle, key=lambda slot: (stage.models <= slot.models, not slot.models))
        self._running[slot.begin(stage)] = slot

    def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
        since = time.monotonic()
        while True:
            n_ready = self._n_ready
            if time.monotonic() - self._looked_at > _LOOK_S:  # we look even while many stages end
                self._slots.look()
                self._looked_at = time.monotonic()
            for need in self._unmet_needs:
                self._slots.start_workers(need)
            outcomes = self._wait_for_events()
            self._log_refusals()
            if outcomes or self._n_ready > n_ready:
                self._unmet_needs.clear()
                return outcomes
            if self._running or self._slots.arriving:
                since = time.monotonic()
            elif time.monotonic() - since > _WAIT_FOR_NODES_S:
                raise ComponentError(self._no_node_error())

    def stop(self) -> None:
        import ray

        self._slots.close()
        with suppress(ray.exceptions.RayError):  # the cluster may be down already
            self._driver.close.remote()
            log_worker_lines(ray.get(self._news, timeout=_LOOK_S))
        end_actor(self._driver)

    @property
    def _n_ready(self) -> int:
        return sum(slot.is_ready for slot in self._slots.all)

    def _wait_for_events(self) -> list[StageRun | LostStage]:
        """Wait briefly for an event. Returns the outcomes of stages."""
        import ray

        calls = [*self._running, *self._slots.arriving, self._news]
        done, pending = ray.wait(calls, timeout=_LOOK_S)
        if done and pending:
            done += ray.wait(pending, num_returns=len(pending), timeout=0)[0]
        outcomes: list[StageRun | LostStage] = []
        for call in done:
            if call == self._news:
                log_worker_lines(ray.get(call))
                self._news = self._driver.news.remote()
            elif call in self._running:
                outcomes.append(self._outcome(self._running.pop(call), call))
            elif call in self._slots.arriving:  # otherwise the worker was ended during the wait
                self._slots.advance_start(call)
        return outcomes

    def _outcome(self, slot: RayWorkerSlot, call: Call) -> StageRun | LostStage:
        """Return the outcome of a worker's stage. Raises errors that the worker could not return as an outcome."""
        import ray

        assert slot.stage is not None, "its stage was started"
        try:
            run: StageRun | Exception = ray.get(call)
        except ray.exceptions.RayError:
            self._slots.end(slot)
            self._slots.look()
            return LostStage(slot.stage.key, self._why(slot))
        if isinstance(run, Exception):
            raise run
        slot.stage = None
        return run

    def _why(self, slot: RayWorkerSlot) -> str:
        if slot.node.node_id not in self._slots.nodes:
            return f"the node {slot.node.address}, on which it ran, left the Ray cluster"
        return (
            f"the worker process on node {slot.node.address} was killed, most likely because memory ran out, or "
            "crashed in a library. Give such stages more memory by executor.resources, or see Ray's logs on that node."
        )

    def _log_refusals(self) -> None:
        for reason in list(self._slots.refusals.values())[self._n_refusals_logged :]:
            log.warning("%s", reason)
        self._n_refusals_logged = len(self._slots.refusals)

    def _no_node_error(self) -> str:
        refused = "".join(f"\n{reason}" for reason in self._slots.refusals.values())
        return (
            f"no node of the Ray cluster can run the next stage (see `ray status`){refused}. Start nodes, then "
            "run the same command again: finished work is cached."
        )
