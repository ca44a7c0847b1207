"""Slurm jobs through submitit: submission, states and logs."""

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
from runner.console.ending_signals import ENDINGS, TERMINAL_SIGNALS, defer_ending_signals
from runner.engine.executors import slurm_bootstrap
from runner.engine.executors.slurm import Cluster, Slurm
from runner.engine.executors.slurm_worker import SlurmJobInput
from runner.engine.plugins.working_directory import without_working_directory

_MAX_SHOWN_LINES = 15
_SECONDS_TO_END, _SIGNAL_AGAIN_S = 10.0, 0.3
_ENDED_STATES = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
    *("REVOKED", "TIMEOUT", "FINISHED", "INTERRUPTED"),
}
"""States of ended jobs, in the words of Slurm and of submitit's local processes."""
_UNKNOWN = "UNKNOWN"
_SQUEUE_FROM_S, _SQUEUE_TO_S = 2.0, 60.0

Submitted = Any
"""A job of submitit, which is untyped."""


class Squeue:
    """States reported by `squeue`, which is asked at most once per interval.

    It knows jobs that `sacct` does not know, because Slurm keeps no accounts or has not written them yet.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Ask often again, because there are new jobs."""
        self._words: dict[str, str] | None = None
        self._asked_at = float("-inf")
        self._began_at = time.monotonic()

    def word(self, job: str) -> str:
        """Return the state of a job."""
        now = time.monotonic()
        if now - self._asked_at > min(max(_SQUEUE_FROM_S, (now - self._began_at) / 2), _SQUEUE_TO_S):
            self._words, self._asked_at = _ask_squeue(), now
        if self._words is None:
            return _UNKNOWN
        return self._words.get(job, "COMPLETED")  # a job that is not listed has left the queue


def _ask_squeue() -> dict[str, str] | None:
    """Return the states by job. None if `squeue` fails."""
    command = ["squeue", "--me", "--noheader", "--array", "--format=%i %T"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603
        return dict(line.split(maxsplit=1) for line in output.splitlines())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


class Jobs:
    """Submits jobs with logs in a folder."""

    def __init__(self, settings: Slurm, logs: Path) -> None:
        import submitit

        logging.getLogger("submitit").setLevel(logging.ERROR)  # submitit warns whenever Slurm has no accounting
        self._is_local = settings.cluster is Cluster.LOCAL
        self._squeue = Squeue()
        self._keeps_accounts = not self._is_local and _keeps_accounts()
        self._executor = submitit.AutoExecutor(folder=logs, cluster=settings.cluster.value)
        self._executor.update_parameters(**_parameters(settings))

    def defer_ending_signals(self) -> AbstractContextManager[None]:
        """Return a context for submitting or ending jobs.

        In it, signals to the process group do not stop `sbatch` and `scancel`. Local processes in place of jobs are
        ended by SIGTERM.
        """
        return defer_ending_signals(blocked_in_children=TERMINAL_SIGNALS if self._is_local else ENDINGS)

    def submit(self, assignments: Sequence[SlurmJobInput]) -> list["SlurmJob"]:
        """Submit one job per assignment, all together. Raises ConfigError if Slurm refuses them."""
        import cloudpickle
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        cloudpickle.register_pickle_by_value(slurm_bootstrap)
        modules = [path or str(Path.cwd()) for path in sys.path]
        try:
            # The output of sbatch is not lost: the error contains it.
            with redirect_stderr(StringIO()), without_working_directory(), self._executor.batch():
                submitted = [
                    self._executor.submit(slurm_bootstrap.run_assignment, modules, pickle.dumps(assignment))
                    for assignment in assignments
                ]
        except (FailedJobError, FailedSubmissionError) as error:
            reason = str(error).strip() or type(error).__name__
            raise ConfigError(f"executor: Slurm refuses the jobs: {reason}") from error
        self._squeue.forget()
        return [SlurmJob(job, None if self._is_local else self._squeue, self._keeps_accounts) for job in submitted]


def _keeps_accounts() -> bool:
    """Return True if `sacct` works. If it does not, each call would print a line on the terminal."""
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
        "slurm_setup": ["export PYTHONSAFEPATH=1", *settings.setup],
        # Since Slurm 22.05, srun does not inherit it from sbatch, and would give the worker one core.
        "slurm_srun_args": [f"--cpus-per-task={settings.cpus_per_worker}"],
        # We resubmit preempted jobs ourselves, under new names, while there is work.
        "slurm_additional_parameters": {"no-requeue": True, **settings.additional},
    }


@dataclass(frozen=True)
class State:
    """The state of a job in Slurm's words."""

    word: str

    @property
    def is_over(self) -> bool:
        """True if the job has ended."""
        return self.word in _ENDED_STATES

    @property
    def is_running(self) -> bool:
        """True if the job has started and has not ended."""
        return self.word == "RUNNING"


class SlurmJob:
    """A submitted Slurm job, or the local process in place of one."""

    def __init__(self, submitted: Submitted, squeue: Squeue | None, keeps_accounts: bool) -> None:
        """`squeue` is None for a local process. With `keeps_accounts`, Slurm's accounts are asked first."""
        self._submitted = submitted
        self._squeue = squeue
        self._keeps_accounts = keeps_accounts
        self.name: str = str(submitted.job_id)

    @property
    def log(self) -> Path:
        """Path of the file that receives the job's stderr. It may not exist yet."""
        return Path(self._submitted.paths.stderr)

    def last_lines(self) -> str:
        """Return the end of its log. "" if it has none."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.strip().splitlines()[-_MAX_SHOWN_LINES:])

    def state(self, *, now: bool = False) -> State:
        """Return its state. It may be some time old unless `now` is set."""
        if self._squeue is None:
            return State(str(self._submitted.state))
        word = self._state_in_accounts(now=now) if self._keeps_accounts else _UNKNOWN
        return State(self._squeue.word(self.name) if word == _UNKNOWN else word)

    def _state_in_accounts(self, *, now: bool) -> str:
        words = self._submitted.watcher.get_state(self.name, mode="force" if now else "standard").split()
        return words[0].rstrip("+").upper() if words else _UNKNOWN  # "CANCELLED by 1000"

    def end(self) -> None:
        """End the job, or remove it from Slurm's queue."""
        if self._squeue is None:
            with suppress(ProcessLookupError):
                # The process forwards the signal. After SIGINT, it would print a traceback.
                os.kill(int(self.name), signal.SIGTERM)
        else:
            self._submitted.cancel(check=False)

    def wait_for_end(self) -> None:
        """Wait for the end of a local process. Returns immediately for a Slurm job, which Slurm cleans up.

        A process that was just starting its child could not forward the signal, so it is signalled again.
        """
        until = time.monotonic() + _SECONDS_TO_END
        again = time.monotonic() + _SIGNAL_AGAIN_S
        while self._squeue is None and not self.state().is_over and time.monotonic() < until:
            time.sleep(0.01)
            if time.monotonic() > again:
                again += _SIGNAL_AGAIN_S
                self.end()
        if self._squeue is None and not self.state().is_over:  # the process was stopped, for example
            os.kill(int(self.name), signal.SIGKILL)
