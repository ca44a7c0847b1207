"""Runs stages in jobs of Slurm, which take them from a queue in a folder that all hosts share: no host needs to reach
another.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib.util import find_spec
from pathlib import Path

from components.errors import MissingExtraError
from components.openai_server.gate import Gate
from components.secrets.given import secret_in
from runner.engine.executors.contexts import say_if_crowded
from runner.engine.executors.local import ThisProcess
from runner.engine.executors.protocol import Executor, Stages, Watch, Workers, defines_in_main
from runner.engine.executors.resources import unknown_kinds
from runner.engine.stage import Resources
from runner.engine.store import Store

_WORKERS_BY_DEFAULT, _WORKERS_HERE = 4, 2


class Cluster(Enum):
    """Where jobs run: `LOCAL` are processes of this host in their place, to try things out."""

    SLURM = "slurm"
    LOCAL = "local"


@dataclass(frozen=True)
class Slurm(Executor):
    """Jobs of Slurm, by default four, each a worker that has what is given here for itself; `cluster: local` are by
    default two processes of this host, which know of these `time_min` alone.

    `setup` are lines of the shell before the worker starts, `additional` further options of `sbatch` by their names.
    A job that gives no sign of life within `start_timeout_s` after Slurm started it is an error; one that is silent for
    `silence_s` counts as gone, and so does this process for its workers. Of jobs that ended while there is work,
    preempted or at their time limit, as many as `max_resubmissions` are submitted again. `resources` are those of kinds
    of stages, which no worker must lack.
    """

    cluster: Cluster = Cluster.SLURM
    partition: str = ""
    account: str = ""
    time_min: int = 240
    cpus_per_worker: int = 4
    gpus_per_worker: int = 0
    mem_gb: float = 16.0
    array_parallelism: int = 256
    setup: tuple[str, ...] = ()
    additional: Mapping[str, str | int | bool] = field(default_factory=dict)
    start_timeout_s: float = 120.0
    silence_s: float = 60.0
    max_resubmissions: int = 20
    resources: Mapping[str, Resources] = field(default_factory=dict)

    def check(self) -> list[str]:
        mistakes = unknown_kinds(self.resources)
        if find_spec("submitit") is None:
            mistakes.append(str(MissingExtraError("submitit", "slurm", "executor=slurm")))
        elif self.cluster is Cluster.SLURM and not shutil.which("sbatch"):
            mistakes.append(
                "cluster: slurm is wanted, but there is no sbatch on this host: give the command where jobs are "
                "submitted, or try it out with executor.cluster=local"
            )
        for name in ("time_min", "cpus_per_worker", "array_parallelism", "start_timeout_s", "silence_s"):
            if not getattr(self, name) > 0:
                mistakes.append(f"{name}: got {getattr(self, name)}, expected more than 0")
        for name in ("gpus_per_worker", "mem_gb", "max_resubmissions"):
            if getattr(self, name) < 0:
                mistakes.append(f"{name}: got {getattr(self, name)}, expected at least 0")
        return [*mistakes, *self._lacking(), *self._secrets()]

    def _lacking(self) -> list[str]:
        """Resources of stages that no worker has; a job without a limit of memory has what its host has."""
        most = {"cpus": self.cpus_per_worker, "gpus": self.gpus_per_worker, "memory_gb": self.mem_gb or float("inf")}
        names = {"cpus": "cpus_per_worker", "gpus": "gpus_per_worker", "memory_gb": "mem_gb"}
        return [
            f"resources.{kind}.{name}: got {wanted:g}, but a worker has {most[name]:g}: raise executor.{names[name]}"
            for kind, need in self.resources.items()
            for name, wanted in vars(need).items()
            if wanted > most[name]
        ]

    def _secrets(self) -> list[str]:
        """They would stand in the script that is kept with the logs, and in the sweep's configuration."""
        texts = [("setup", line) for line in self.setup]
        texts += [(f"additional.{name}", f"--{name}={value}") for name, value in self.additional.items()]
        return [
            f"{setting}: {how}, which would be written into files; set it in the environment of the command, which "
            "Slurm passes on to its jobs"
            for setting, text in texts
            if (how := secret_in(text))
        ]

    def start(
        self, stages: Stages, store: Store, gate: Gate | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        if not stages or defines_in_main(stages):
            return ThisProcess(store, gate, watch)
        from runner.engine.executors.slurm_workers import SlurmWorkers

        is_here = self.cluster is Cluster.LOCAL
        if is_here:
            say_if_crowded(min(n_workers, len(stages)))
        n_workers = n_workers or (_WORKERS_HERE if is_here else _WORKERS_BY_DEFAULT)
        return SlurmWorkers(self, stages, store, gate, min(n_workers, len(stages)), folder)
