"""Runs stages on a Ray cluster: on the nodes of one that runs already, or of one that is started for this command."""

import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from components.errors import ConfigError, MissingExtraError
from components.openai_server.gate import Gate
from runner.console.endings import endings_deferred
from runner.engine.executors.contexts import say_if_crowded
from runner.engine.executors.local import ThisProcess
from runner.engine.executors.protocol import Executor, Lost, Room, Stages, Watch, Workers, defines_in_main
from runner.engine.executors.resources import unknown_kinds
from runner.engine.outcome import StageRun
from runner.engine.spending import SharedGate
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store

log = logging.getLogger(__name__)

_OWN = "local"
_OBJECTS_BYTES = 128 << 20
"""Room for what goes through Ray: keys, and the stages once."""

_WARN_AFTER_S = 1.0
_ANSWERS_WITHIN_S = 10.0


@dataclass(frozen=True)
class RayCluster(Executor):
    """Workers on the nodes of a Ray cluster; by default one for each core. `address` is "auto" for the cluster of
    RAY_ADDRESS or the one that runs on this machine, "local" for one of this machine's that ends with the command, or
    HOST:PORT. `resources` are those of kinds of stages, fractions of GPUs among them.
    """

    address: str
    resources: Mapping[str, Resources] = field(default_factory=dict)

    def check(self) -> list[str]:
        mistakes = unknown_kinds(self.resources)
        if find_spec("ray") is None:
            mistakes.append(str(MissingExtraError("ray", "ray", "executor=ray")))
        if "@" in self.address:  # it would stand in the results
            mistakes.append("address: holds a user name or password, expected HOST:PORT; Ray's token is RAY_AUTH_TOKEN")
        elif not self.address.strip() or "://" in self.address:
            mistakes.append(
                f"address: got {self.address!r}, expected auto, local or HOST:PORT; Ray's clients (ray://) are no "
                "nodes of the cluster: give the command on one of them"
            )
        return mistakes

    def start(
        self, stages: Stages, store: Store, gate: Gate | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        if not stages or defines_in_main(stages):
            return ThisProcess(store, gate, watch)
        if self.address == _OWN:
            say_if_crowded(min(n_workers, len(stages)))
        return _Joined(self, stages, store, gate or SharedGate(store.limits), n_workers)


class _Joined(Workers):
    """The workers of a cluster that this process has joined, until they are stopped."""

    def __init__(self, executor: RayCluster, stages: Stages, store: Store, gate: Gate, n_workers: int) -> None:
        import ray

        from runner.engine.executors.ray_cluster_workers import RayWorkers

        self._is_joined_here = not ray.is_initialized()
        self._workers: RayWorkers | None = None
        try:
            with _telling("starting Ray ..."):
                if self._is_joined_here:
                    _join(executor.address, n_workers)
                self._workers = RayWorkers(stages, store, gate, n_workers, executor.resources)
        except BaseException:
            with endings_deferred():
                self.stop()
            raise

    def room_for(self, stage: AnyStage) -> Room:
        assert self._workers is not None, "they were started"
        return self._workers.room_for(stage)

    def submit(self, stage: AnyStage) -> None:
        assert self._workers is not None, "they were started"
        self._workers.submit(stage)

    def ended(self) -> Sequence[StageRun | Lost]:
        assert self._workers is not None, "they were started"
        return self._workers.ended()

    def stop(self) -> None:
        import ray

        if self._workers:
            self._workers.stop()
            self._workers = None
        if self._is_joined_here:
            ray.shutdown()


def _join(address: str, n_workers: int) -> None:
    """Raises ConfigError."""
    _see_that_it_answers(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported of a cluster that we start
    import ray

    own = {"include_dashboard": False, "object_store_memory": _OBJECTS_BYTES, "num_cpus": n_workers or None}
    with _signal_handlers_kept():
        try:
            ray.init(
                address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **(own if address == _OWN else {}),
            )
        except Exception as error:
            raise ConfigError(
                f"executor.address={address}: {_first_line(error)}.{_token_hint(address)} {_remedy(address)}"
            ) from error
    # What the nodes tell of a worker that died is told in our words, with its stage.
    ray._private.worker.print_to_stdstream = lambda data, ignore_prefix: None


def _see_that_it_answers(address: str) -> None:
    """Raises ConfigError: Ray itself would try for ever."""
    place = _host_and_port(address)
    if place is None:
        return  # whatever it is, Ray says what is wrong with it
    try:
        socket.create_connection(place, _ANSWERS_WITHIN_S).close()
    except OSError as error:
        named = _named(address)
        what = "" if address == named else f", which is {named}"
        raise ConfigError(
            f"executor.address={address}{what}: no Ray cluster answers there ({error.strerror or error}). "
            f"{_remedy(address)}"
        ) from error


def _host_and_port(address: str) -> tuple[str, int] | None:
    host, _, port = _named(address).rpartition(":")
    return (host.strip("[]"), int(port)) if port.isdecimal() and "//" not in host else None


def _named(address: str) -> str:
    """HOST:PORT, as far as it is written anywhere."""
    if address != "auto":
        return address
    noted = Path(os.environ.get("RAY_TMPDIR", tempfile.gettempdir())) / "ray" / "ray_current_cluster"  # by `ray start`
    return os.environ.get("RAY_ADDRESS", "") or (noted.read_text().strip() if noted.is_file() else "")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].removesuffix(".") or type(error).__name__


def _token_hint(address: str) -> str:
    """What else may be wrong where something answers; Ray says so only in the lines that it logs."""
    if not _host_and_port(address):
        return ""
    return " If a cluster runs there, give the command with the RAY_AUTH_MODE and RAY_AUTH_TOKEN that it has."


def _remedy(address: str) -> str:
    if address == _OWN:
        return "Give executor=processes for workers of this machine without Ray"
    return (
        "Start a cluster (ray start --head) or name one (RAY_ADDRESS, executor.address=HOST:PORT), of which this "
        "machine is a node; executor.address=local starts one for this command alone"
    )


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Ray sets one for SIGTERM; a sweep has its own, which ends the workers as well."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _telling(line: str) -> Iterator[None]:
    """Says what goes on, if it takes a while."""
    timer = threading.Timer(_WARN_AFTER_S, log.warning, [line])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
