"""Jobs: submitting them, what became of them and what they said, through submitit."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, redirect_stderr, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from components.errors import ConfigError
from runner.console.endings import ENDINGS, OF_TERMINALS, endings_deferred
from runner.engine.executors import slurm_bootstrap
from runner.engine.executors.slurm import Cluster, Slurm
from runner.engine.executors.slurm_worker import Assignment

_MOST_LINES_SHOWN = 15
_SECONDS_TO_END, _TOLD_AGAIN_S = 10.0, 0.3
_OVER = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
    *("REVOKED", "TIMEOUT", "FINISHED", "INTERRUPTED"),
}
"""Words of Slurm's, and of processes in the place of jobs, for jobs that will not go on."""
_UNKNOWN = "UNKNOWN"
_SQUEUE_FROM_S, _SQUEUE_TO_S = 2.0, 60.0

Submitted = Any
"""A job of submitit's: it has no types."""


class Squeue:
    """What `squeue` says, asked at most once in a while: it knows of jobs where Slurm keeps no accounts (`sacct`), or
    has not written them down yet.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """There are new jobs: it is asked often at first."""
        self._words: dict[str, str] | None = None
        self._asked = float("-inf")
        self._since = time.monotonic()

    def word(self, job: str) -> str:
        """Of a job's state."""
        now = time.monotonic()
        if now - self._asked > min(max(_SQUEUE_FROM_S, (now - self._since) / 2), _SQUEUE_TO_S):
            self._words, self._asked = _told_by_squeue(), now
        if self._words is None:
            return _UNKNOWN
        return self._words.get(job, "COMPLETED")  # it has left the queue


def _told_by_squeue() -> dict[str, str] | None:
    """The words by job; None if it says nothing."""
    command = ["squeue", "--me", "--noheader", "--array", "--format=%i %T"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603
        return dict(line.split(maxsplit=1) for line in told.splitlines())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


class Jobs:
    """Submits jobs, whose logs go to a folder."""

    def __init__(self, settings: Slurm, logs: Path) -> None:
        import submitit

        logging.getLogger("submitit").setLevel(logging.ERROR)  # it warns whenever Slurm keeps no accounts
        self._is_local = settings.cluster is Cluster.LOCAL
        self._squeue = Squeue()
        self._keeps_accounts = not self._is_local and _keeps_accounts()
        self._executor = submitit.AutoExecutor(folder=logs, cluster=settings.cluster.value)
        self._executor.update_parameters(**_parameters(settings))

    def endings_deferred(self) -> AbstractContextManager[None]:
        """For as long as jobs are submitted or ended. `sbatch` and `scancel` run to their ends, whatever the whole
        process group is told; processes in the place of jobs are ended by SIGTERM.
        """
        return endings_deferred(kept_from_children=OF_TERMINALS if self._is_local else ENDINGS)

    def submit(self, assignments: Sequence[Assignment]) -> list["SlurmJob"]:
        """One job each, all of them at once. Raises ConfigError if Slurm refuses them."""
        import cloudpickle
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        cloudpickle.register_pickle_by_value(slurm_bootstrap)
        modules = [path or str(Path.cwd()) for path in sys.path]
        try:
            with redirect_stderr(StringIO()), self._executor.batch():  # sbatch's words are those of the error
                submitted = [
                    self._executor.submit(slurm_bootstrap.work_like_the_driver, modules, pickle.dumps(assignment))
                    for assignment in assignments
                ]
        except (FailedJobError, FailedSubmissionError) as error:
            said = str(error).strip() or type(error).__name__
            raise ConfigError(f"executor: Slurm does not take the jobs: {said}") from error
        self._squeue.forget()
        return [SlurmJob(job, None if self._is_local else self._squeue, self._keeps_accounts) for job in submitted]


def _keeps_accounts() -> bool:
    """Whether `sacct` knows of jobs; where it does not, each question would bring a line of its own to the terminal."""
    try:
        command = ["sacct", "--noheader", "--allocations", "--starttime=now"]
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False


def _parameters(settings: Slurm) -> dict[str, object]:
    return {
        "name": "rag-grid",
        "timeout_min": settings.time_min,
        "cpus_per_task": settings.cpus_per_worker,
        "gpus_per_node": settings.gpus_per_worker or None,
        "mem_gb": settings.mem_gb or None,
        "slurm_partition": settings.partition or None,
        "slurm_account": settings.account or None,
        "slurm_array_parallelism": settings.array_parallelism,
        "slurm_setup": list(settings.setup),
        # srun does not take it over from sbatch since Slurm 22.05, and would give the worker one core.
        "slurm_srun_args": [f"--cpus-per-task={settings.cpus_per_worker}"],
        # A job that is preempted is submitted by us again: under a name of its own, while there is work.
        "slurm_additional_parameters": {"no-requeue": True, **settings.additional},
    }


@dataclass(frozen=True)
class State:
    """What became of a job, in Slurm's word for it."""

    word: str

    @property
    def is_over(self) -> bool:
        """It will not go on."""
        return self.word in _OVER

    @property
    def is_running(self) -> bool:
        """It was started, and has not ended."""
        return self.word == "RUNNING"


class SlurmJob:
    """One job."""

    def __init__(self, submitted: Submitted, squeue: Squeue | None, keeps_accounts: bool) -> None:
        """`squeue` is None for a process of this host; if Slurm `keeps_accounts`, they are asked first."""
        self._submitted = submitted
        self._squeue = squeue
        self._keeps_accounts = keeps_accounts
        self.name: str = str(submitted.job_id)

    @property
    def log(self) -> Path:
        """What it said as errors."""
        return Path(self._submitted.paths.stderr)

    def last_lines(self) -> str:
        """The end of its log; "" if there is none."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.strip().splitlines()[-_MOST_LINES_SHOWN:])

    def state(self, *, now: bool = False) -> State:
        """What Slurm says of it: what it said a while ago, unless it is asked now."""
        if self._squeue is None:
            return State(str(self._submitted.state))
        word = self._accounted(now=now) if self._keeps_accounts else _UNKNOWN
        return State(self._squeue.word(self.name) if word == _UNKNOWN else word)

    def _accounted(self, *, now: bool) -> str:
        words = self._submitted.watcher.get_state(self.name, mode="force" if now else "standard").split()
        return words[0].rstrip("+").upper() if words else _UNKNOWN  # "CANCELLED by 1000"

    def end(self) -> None:
        """Ends it, whatever it does, or takes it from Slurm's queue."""
        if self._squeue is None:
            with suppress(ProcessLookupError):
                os.kill(int(self.name), signal.SIGTERM)  # which it hands on; by SIGINT it would print a traceback
        else:
            self._submitted.cancel(check=False)

    def wait_for_end(self) -> None:
        """For a process of this host, which is ours to clear away; Slurm clears away its own. One that was about to
        start others, and had none to hand the signal on to, is told again.
        """
        until = time.monotonic() + _SECONDS_TO_END
        again = time.monotonic() + _TOLD_AGAIN_S
        while self._squeue is None and not self.state().is_over and time.monotonic() < until:
            time.sleep(0.01)
            if time.monotonic() > again:
                again += _TOLD_AGAIN_S
                self.end()
        if self._squeue is None and not self.state().is_over:  # it was stopped, say
            os.kill(int(self.name), signal.SIGKILL)
