"""The executor that runs stages on a Ray cluster: a running one, or one started for this command."""

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
from components.openai_server.limiter import Limiter
from runner.console.ending_signals import defer_ending_signals
from runner.engine.executors.contexts import warn_if_crowded
from runner.engine.executors.local import ThisProcess
from runner.engine.executors.protocol import Executor, LostStage, Stages, StartPriority, Watch, Workers, defines_in_main
from runner.engine.executors.resources import unknown_kinds
from runner.engine.outcome import StageRun
from runner.engine.spending import SharedLimiter
from runner.engine.stage import AnyStage, Resources
from runner.engine.store import Store

log = logging.getLogger(__name__)

_OWN = "local"
_OBJECTS_BYTES = 128 << 20
"""Object store for data sent through Ray: keys, and all stages once."""

_WARN_AFTER_S = 1.0
_ANSWERS_WITHIN_S = 10.0


@dataclass(frozen=True)
class RayCluster(Executor):
    """Workers on the nodes of a Ray cluster, by default one per core.

    `address` is "auto", "local" or HOST:PORT. "auto" means the cluster of RAY_ADDRESS, or a cluster that runs on this
    machine. "local" starts a cluster on this machine that ends with the command. `resources` maps kinds of stages to
    their resources, which may include fractions of GPUs.
    """

    address: str
    resources: Mapping[str, Resources] = field(default_factory=dict)

    def check(self) -> list[str]:
        errors = unknown_kinds(self.resources)
        if find_spec("ray") is None:
            errors.append(str(MissingExtraError("ray", "ray", "executor=ray")))
        if "@" in self.address:  # results would contain the password
            errors.append(
                "address: contains a user name or password, expected HOST:PORT. Put Ray's token in RAY_AUTH_TOKEN."
            )
        elif not self.address.strip() or "://" in self.address:
            errors.append(
                f"address: got {self.address!r}, expected auto, local or HOST:PORT; ray:// addresses are not "
                "supported. Run the command on a node of the cluster."
            )
        return errors

    def start(
        self, stages: Stages, store: Store, limiter: Limiter | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        if not stages or defines_in_main(stages):
            return ThisProcess(store, limiter, watch, max_stages=0)
        if self.address == _OWN:
            warn_if_crowded(min(n_workers, len(stages)))
        return _JoinedWorkers(self, stages, store, limiter or SharedLimiter(store.limits), n_workers)


class _JoinedWorkers(Workers):
    """Workers of a cluster that this process joins until they are stopped."""

    def __init__(self, executor: RayCluster, stages: Stages, store: Store, limiter: Limiter, n_workers: int) -> None:
        import ray

        from runner.engine.executors.ray_cluster_workers import RayWorkers

        self._is_joined_here = not ray.is_initialized()
        self._workers: RayWorkers | None = None
        try:
            with _warn_if_slow("starting Ray ..."):
                if self._is_joined_here:
                    _join(executor.address, n_workers)
                self._workers = RayWorkers(stages, store, limiter, n_workers, executor.resources)
        except BaseException:
            with defer_ending_signals():
                self.stop()
            raise

    def extend(self, stages: Stages) -> bool:
        assert self._workers is not None, "the workers were started"
        return not defines_in_main(stages) and self._workers.extend(stages)

    def start_priority(self, stage: AnyStage) -> StartPriority:
        assert self._workers is not None, "the workers were started"
        return self._workers.start_priority(stage)

    def submit(self, stage: AnyStage) -> None:
        assert self._workers is not None, "the workers were started"
        self._workers.submit(stage)

    def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
        assert self._workers is not None, "the workers were started"
        return self._workers.wait_for_outcomes()

    def stop(self) -> None:
        import ray

        if self._workers:
            self._workers.stop()
            self._workers = None
        if self._is_joined_here:
            ray.shutdown()


def _join(address: str, n_workers: int) -> None:
    """Connect this process to the cluster, or start one.

    Raises ConfigError if the cluster does not answer or Ray fails.
    """
    _check_reachable(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics of a cluster that we start
    import ray

    options = {"include_dashboard": False, "object_store_memory": _OBJECTS_BYTES, "num_cpus": n_workers or None}
    with _keep_sigterm_handler():
        try:
            ray.init(
                address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **(options if address == _OWN else {}),
            )
        except Exception as error:
            raise ConfigError(
                f"executor.address={address}: {_first_line(error)}.{_token_hint(address)} {_remedy(address)}"
            ) from error
    # We report dead workers ourselves, with their stages.
    ray._private.worker.print_to_stdstream = lambda data, ignore_prefix: None


def _check_reachable(address: str) -> None:
    """Raise ConfigError if the cluster does not answer. Ray itself would try forever."""
    endpoint = _host_and_port(address)
    if endpoint is None:
        return  # Ray reports what is wrong with the address
    try:
        socket.create_connection(endpoint, _ANSWERS_WITHIN_S).close()
    except OSError as error:
        resolved = _resolve_address(address)
        what = "" if address == resolved else f", which is {resolved}"
        raise ConfigError(
            f"executor.address={address}{what}: no Ray cluster answers there ({error.strerror or error}). "
            f"{_remedy(address)}"
        ) from error


def _host_and_port(address: str) -> tuple[str, int] | None:
    host, _, port = _resolve_address(address).rpartition(":")
    return (host.strip("[]"), int(port)) if port.isdecimal() and "//" not in host else None


def _resolve_address(address: str) -> str:
    """Return HOST:PORT from the setting, the environment or a file of Ray. "" if none of them has it."""
    if address != "auto":
        return address
    # `ray start` writes this file.
    noted = Path(os.environ.get("RAY_TMPDIR", tempfile.gettempdir())) / "ray" / "ray_current_cluster"
    return os.environ.get("RAY_ADDRESS", "") or (noted.read_text().strip() if noted.is_file() else "")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].removesuffix(".") or type(error).__name__


def _token_hint(address: str) -> str:
    """Return a hint about authentication if something may answer at the address. Ray only logs such errors."""
    if not _host_and_port(address):
        return ""
    return " If a cluster runs there, set RAY_AUTH_MODE and RAY_AUTH_TOKEN as the cluster does."


def _remedy(address: str) -> str:
    if address == _OWN:
        return "Use executor=processes for workers on this machine without Ray"
    return (
        "Start a cluster (ray start --head), or name the cluster of this machine (RAY_ADDRESS, "
        "executor.address=HOST:PORT); executor.address=local starts one only for this command"
    )


@contextmanager
def _keep_sigterm_handler() -> Iterator[None]:
    """Restore the handler for SIGTERM, which Ray replaces. The handler of a sweep ends the workers as well."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def _warn_if_slow(line: str) -> Iterator[None]:
    """Log the line if the context takes a while."""
    timer = threading.Timer(_WARN_AFTER_S, log.warning, [line])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
