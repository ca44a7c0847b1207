"""The executor that runs stages in Slurm jobs. Jobs take stages from a queue in a shared folder, and need no
network.
"""

import re
import shutil
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib.util import find_spec
from pathlib import Path

from components.errors import MissingExtraError
from components.openai_server.limiter import Limiter
from components.secrets.configured_secrets import describe_secret
from runner.engine.executors.contexts import warn_if_crowded
from runner.engine.executors.local import ThisProcess
from runner.engine.executors.protocol import Executor, Stages, Watch, Workers, defines_in_main
from runner.engine.executors.resources import unknown_kinds
from runner.engine.stage import Resources
from runner.engine.store import Store

_OPTION_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ENDS_LINE = ("Cc", "Zl", "Zp")
"""Unicode's categories of control characters and of the separators of lines and paragraphs."""
_REPLACED_IN_PATHS = "%\\"
"""Characters in a log path that sbatch or submitit would expand, as in %j."""

_DEFAULT_WORKERS, _DEFAULT_LOCAL_WORKERS = 4, 2


class Cluster(Enum):
    """The system that runs jobs. `LOCAL` runs processes of this host in place of jobs, to try out the executor."""

    SLURM = "slurm"
    LOCAL = "local"


@dataclass(frozen=True)
class Slurm(Executor):
    """Slurm jobs, each a worker with the resources given here. By default four.

    With `cluster: local`, workers are processes of this host, by default two, which use only `time_min` of the
    resources. `setup` holds shell lines that run before the worker starts. `additional` holds further options of
    `sbatch` by name.

    A job without a heartbeat within `start_timeout_s` after Slurm started it is an error. A job that is silent for
    `silence_s` is presumed dead, and jobs presume the same of this process. At most `max_resubmissions` jobs replace
    jobs that were preempted or reached their time limit. `resources` holds the resources of kinds of stages, which
    every worker must have.
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
        errors = unknown_kinds(self.resources)
        if find_spec("submitit") is None:
            errors.append(str(MissingExtraError("submitit", "slurm", "executor=slurm")))
        elif self.cluster is Cluster.SLURM and not shutil.which("sbatch"):
            errors.append(
                "cluster: slurm requires sbatch, which this host lacks. Run the command on a host that submits "
                "jobs, or try it with executor.cluster=local."
            )
        for name in ("time_min", "cpus_per_worker", "array_parallelism", "start_timeout_s", "silence_s"):
            if not getattr(self, name) > 0:
                errors.append(f"{name}: got {getattr(self, name)}, expected more than 0")
        for name in ("gpus_per_worker", "mem_gb", "max_resubmissions"):
            if getattr(self, name) < 0:
                errors.append(f"{name}: got {getattr(self, name)}, expected at least 0")
        return [*errors, *self._missing_resources(), *self._secrets(), *self._unsafe_options()]

    def folder_problems(self, folder: Path) -> list[str]:
        if _ends_line(str(folder)):
            return ["run.results_dir: a folder in its path has a line break or a control character in its name"]
        if signs := [sign for sign in _REPLACED_IN_PATHS if sign in str(folder)]:
            return [
                f"run.results_dir: {folder} contains {' and '.join(signs)}, which Slurm replaces in the paths of logs. "
                "Choose another folder."
            ]
        return []

    def _unsafe_options(self) -> list[str]:
        """Return error messages for options of sbatch that would write further lines into the job script, which the
        job would run.
        """
        options = {"partition": self.partition, "account": self.account}
        errors = []
        for name, value in self.additional.items():
            if _OPTION_NAME.fullmatch(str(name)):
                options[f"additional.{name}"] = str(value)
            else:
                errors.append(f"additional: got the name {name!r}, expected letters, digits, - and _")
        errors += [f"{name}: has a line break or a control character" for name in options if _ends_line(options[name])]
        return errors

    def _missing_resources(self) -> list[str]:
        """Return error messages for stages that need more resources than a worker has. A job without memory limit has
        all memory of its host.
        """
        limits = {"cpus": self.cpus_per_worker, "gpus": self.gpus_per_worker, "memory_gb": self.mem_gb or float("inf")}
        names = {"cpus": "cpus_per_worker", "gpus": "gpus_per_worker", "memory_gb": "mem_gb"}
        return [
            f"resources.{kind}.{name}: got {needed:g}, but a worker has {limits[name]:g}. Raise executor.{names[name]}"
            for kind, need in self.resources.items()
            for name, needed in vars(need).items()
            if needed > limits[name]
        ]

    def _secrets(self) -> list[str]:
        """Return error messages for secrets in settings, which would be written into the job script and the sweep's
        configuration.
        """
        texts = [("setup", line) for line in self.setup]
        texts += [(f"additional.{name}", f"--{name}={value}") for name, value in self.additional.items()]
        return [
            f"{setting}: {form}, which would be written into files. Set it in the environment of the command, which "
            "Slurm passes on to its jobs."
            for setting, text in texts
            if (form := describe_secret(text))
        ]

    def start(
        self, stages: Stages, store: Store, limiter: Limiter | None, n_workers: int, watch: Watch, folder: Path
    ) -> Workers:
        if not stages or defines_in_main(stages):
            return ThisProcess(store, limiter, watch)
        from runner.engine.executors.slurm_workers import SlurmWorkers

        is_here = self.cluster is Cluster.LOCAL
        if is_here:
            warn_if_crowded(min(n_workers, len(stages)))
        n_workers = n_workers or (_DEFAULT_LOCAL_WORKERS if is_here else _DEFAULT_WORKERS)
        return SlurmWorkers(self, stages, store, limiter, min(n_workers, len(stages)), folder)


def _ends_line(text: str) -> bool:
    """Return True if a text could end a line of a script."""
    return any(unicodedata.category(character) in _ENDS_LINE for character in text)
