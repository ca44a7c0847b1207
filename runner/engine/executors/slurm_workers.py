"""The workers of the `slurm` executor as the scheduler sees them: the tasks that they took, and the outcomes."""

import logging
import pickle
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from components.errors import ComponentError, ConfigError
from components.openai_server.limiter import Limiter
from components.threads import n_cores
from runner.engine.environment import versions_to_match
from runner.engine.executors.host_comparison import find_user_packages
from runner.engine.executors.leftovers import clear_logs, clear_probes, clear_queues, find_drivers, new_probe, new_queue
from runner.engine.executors.protocol import LostStage, Stages, StartPriority, Workers, iterate_components
from runner.engine.executors.slurm import Cluster, Slurm
from runner.engine.executors.slurm_heartbeat import DriverHeartbeat
from runner.engine.executors.slurm_jobs import Jobs, SlurmJob, State
from runner.engine.executors.slurm_queue import Journal, TaskQueue, Wait, journal_path, make_folders
from runner.engine.executors.slurm_worker import DepartureReason, SlurmJobInput, read_stage_run
from runner.engine.identity import Models
from runner.engine.outcome import StageRun
from runner.engine.plugins.plugin_loading import UserCode
from runner.engine.stage import AnyStage
from runner.engine.store import Store

log = logging.getLogger(__name__)

_TASKS_PER_WORKER = 2
"""A worker runs one task while another waits for it, so that it need not wait for the driver."""

_MIN_LOOK_S, _MAX_LOOK_S = 0.05, 1.0
"""Shortest and longest interval between checks whether the workers are alive."""

_DOUBT_AFTER_S = 10.0
"""Seconds of silence after which Slurm is asked for the state of a worker's job, and the interval between questions."""

_WARN_AFTER_S = 10.0

_Outcomes = list[StageRun | LostStage]


class _Worker:
    """A job, with the facts that the driver knows about it.

    `tasks` maps the worker's processes to their tasks. A dead process stays until its death is reported.
    """

    def __init__(self, name: str, job: SlurmJob, folder: Path) -> None:
        self.name = name
        self.job = job
        self.runs, self.life = (Journal(journal_path(folder, name, ending)) for ending in ("runs", "life"))
        self.tasks: dict[int, int] = {}
        self.models: Models = frozenset()
        self.is_ready = False
        self.last_sign = self.last_asked = time.monotonic()

    @property
    def silent_s(self) -> float:
        """Seconds since the last heartbeat."""
        return time.monotonic() - self.last_sign

    def state(self) -> State:
        """Return the state of the job. Asks Slurm again if the worker is silent."""
        now = self.silent_s > _DOUBT_AFTER_S and time.monotonic() - self.last_asked > _DOUBT_AFTER_S
        if now:
            self.last_asked = time.monotonic()
        return self.job.state(now=now)


class SlurmWorkers(Workers):
    """Slurm jobs, and the queue that hands them stages."""

    def __init__(
        self, settings: Slurm, stages: Stages, store: Store, limiter: Limiter | None, n_workers: int, sweep_dir: Path
    ) -> None:
        """Submit the jobs. Raises ConfigError if Slurm refuses them."""
        self._settings = settings
        self._work = pickle.dumps((UserCode(iterate_components(stages)), dict(stages), store, limiter))
        self._packages = find_user_packages(stages.values())
        clear_probes(store)
        self._probe = new_probe(store)
        self._drivers = find_drivers(sweep_dir.parent)  # keeps the heartbeat of this process running
        clear_queues(sweep_dir.parent, self._drivers)
        self._folder = new_queue(sweep_dir, self._drivers)
        self._logs = sweep_dir / "logs"
        self._jobs = Jobs(settings, self._logs)
        self._stages: dict[int, AnyStage] = {}
        self._workers: dict[str, _Worker] = {}
        self._ended_jobs: list[SlurmJob] = []
        self._n_workers = n_workers
        is_local = settings.cluster is Cluster.LOCAL  # workers share the cores of this host
        self._n_threads = max(1, n_cores() // n_workers) if is_local else settings.cpus_per_worker
        self._n_submitted = 0
        self._max_jobs = n_workers + settings.max_resubmissions
        self._began_at = self._looked_at = time.monotonic()
        self._has_warned_about_waiting = self._had_any_worker = False
        make_folders(self._folder)
        self._offers = TaskQueue(self._folder)
        self._pulse = DriverHeartbeat(self._folder, settings.silence_s)
        try:
            self._submit_jobs(n_workers)
        except BaseException:
            self.stop()
            raise

    def _submit_jobs(self, n_jobs: int) -> None:
        names = [str(self._n_submitted + number) for number in range(n_jobs)]
        self._n_submitted += n_jobs
        if self._probe:
            self._probe.touch()
        for name in names:  # before the first lookup, because an NFS client remembers that a file was missing
            for ending in ("runs", "life"):
                journal_path(self._folder, name, ending).touch()
        with self._jobs.defer_ending_signals():
            for name, job in zip(names, self._jobs.submit([self._assignment(name) for name in names]), strict=True):
                self._workers[name] = _Worker(name, job, self._folder)

    def _assignment(self, name: str) -> SlurmJobInput:
        return SlurmJobInput(
            self._folder,
            name,
            self._work,
            self._packages,
            versions_to_match(self._packages),
            self._probe,
            self._n_threads,
            self._settings.silence_s,
        )

    def start_priority(self, stage: AnyStage) -> StartPriority:
        if len(self._stages) >= _TASKS_PER_WORKER * self._n_workers:
            return StartPriority.NONE
        n_holders = self._n_holders(stage.models)
        n_waiting = sum(self._stages[task.number].models == stage.models for task in self._offers)
        if not stage.models or n_waiting < n_holders:
            return StartPriority.READY
        return StartPriority.AGAIN if n_holders or n_waiting else StartPriority.NEW

    def submit(self, stage: AnyStage) -> None:
        task = self._offers.put(stage.key, self._n_holders(stage.models))
        self._stages[task.number] = stage

    def _n_holders(self, models: Models) -> int:
        """Return the number of workers that hold the models in memory. 0 if the set of models is empty."""
        return sum(models <= worker.models for worker in self._workers.values()) if models else 0

    def start_submitted(self) -> None:
        self._offers.write()

    def wait_for_outcomes(self) -> Sequence[StageRun | LostStage]:
        wait = Wait()
        while True:
            self._replace_jobs()
            self._offers.write()
            outcomes = self._read_outcomes()
            if not outcomes and time.monotonic() - self._looked_at > min(
                max(wait.seconds / 20, _MIN_LOOK_S), _MAX_LOOK_S
            ):
                outcomes = self._check_workers()
                self._looked_at = time.monotonic()
            if outcomes:
                return outcomes
            wait.pause()

    def _read_outcomes(self) -> _Outcomes:
        """Return the outcomes since the last call."""
        return [run for worker in self._workers.values() for run in self._collect_outcomes(worker)]

    def _collect_outcomes(self, worker: _Worker) -> _Outcomes:
        outcomes: _Outcomes = []
        for line in worker.runs.new_lines():
            if "began" in line and line["began"] in self._stages:
                self._record_start(worker, line["began"], line["process"])
            elif "ended" in line and worker.tasks.get(line["process"]) == line["ended"]:
                del self._stages[worker.tasks.pop(line["process"])]
                outcomes.append(read_stage_run(line["how"]))
        return outcomes

    def _record_start(self, worker: _Worker, number: int, process: int) -> None:
        worker.tasks[process] = number
        self._offers.withdraw(number)
        if models := self._stages[number].models:
            worker.models = models
            self._update_holders()

    def _update_holders(self) -> None:
        for task in self._offers:
            self._offers.set_holders(task, self._n_holders(self._stages[task.number].models))

    def _check_workers(self) -> _Outcomes:
        """Check which workers started, died or left. Returns the outcomes of their stages."""
        for task in self._offers.tasks_of_dismissed_workers:  # a worker presumed dead may be alive for a while
            self._resubmit(task.number)
        return [each for worker in list(self._workers.values()) for each in self._check_worker(worker)]

    def _check_worker(self, worker: _Worker) -> _Outcomes:
        n_bytes_read = worker.life.n_bytes_read
        outcomes: _Outcomes = []
        for line in worker.life.new_lines():
            if "hello" in line:
                worker.is_ready = self._had_any_worker = True
            if "refused" in line:
                outcomes += self._drop(worker, line["refused"])
            elif "died" in line:
                outcomes += self._record_death(worker, line["process"], line["died"])
            elif "left" in line:
                outcomes += self._record_departure(worker, DepartureReason(line["left"]))
        if worker.life.n_bytes_read > n_bytes_read:
            worker.last_sign = time.monotonic()
        if worker.name not in self._workers:
            return outcomes
        return outcomes + (self._check_if_dead(worker) if worker.is_ready else self._check_start(worker))

    def _record_death(self, worker: _Worker, process: int, exit_code: int) -> _Outcomes:
        """Record the death of a worker process, which another one replaces."""
        outcomes = self._collect_outcomes(worker)
        worker.models = frozenset()
        if process not in worker.tasks:  # the process was idle, or its successor takes the task that it did not report
            return outcomes
        return [*outcomes, self._lose(worker.tasks.pop(process), _describe_death(exit_code, worker.job))]

    def _lose(self, number: int, reason: str) -> LostStage:
        return LostStage(self._stages.pop(number).key, reason)

    def _record_departure(self, worker: _Worker, reason: DepartureReason) -> _Outcomes:
        if reason is DepartureReason.DEATHS:
            return self._drop(worker, _job_error(worker.job, "was abandoned: its worker processes died repeatedly"))
        if reason is DepartureReason.TIME:
            limit = f"executor.time_min={self._settings.time_min}"
            return self._remove(worker, f"its job reached the time limit before the stage ended. Raise {limit}")
        return self._remove(worker)  # the job was preempted, for example, which is not the stage's fault

    def _check_if_dead(self, worker: _Worker) -> _Outcomes:
        """Return the outcome of its stage if the worker disappeared without a record."""
        name, state = worker.job.name, worker.state()
        if state.is_over:
            return self._remove(worker, f"its Slurm job {name} ended ({state.word}); its log is {worker.job.log}")
        if worker.silent_s > self._settings.silence_s:
            what = f"had no heartbeat for {worker.silent_s:.0f} s (executor.silence_s)"
            return self._remove(worker, f"its Slurm job {name} {what}; its log is {worker.job.log}")
        return []

    def _check_start(self, worker: _Worker) -> _Outcomes:
        """Check a worker that has not sent its first heartbeat."""
        state, limit_s = worker.job.state(), self._settings.start_timeout_s
        if state.is_over:
            reason = _job_error(worker.job, f"ended ({state.word}) without a heartbeat")
            if not self._had_any_worker:  # no job ever started a worker, so the next one would fail too
                return self._drop(worker, reason)
            log.warning("%s", reason)
            return self._remove(worker)
        if not state.is_running:  # a job that does not run has no heartbeat yet
            worker.last_sign = time.monotonic()
            self._warn_about_waiting(worker.job.name, state)
        elif worker.silent_s > limit_s:
            what = f"had no heartbeat within executor.start_timeout_s={limit_s:g} s"
            return self._drop(worker, _job_error(worker.job, what))
        return []

    def _warn_about_waiting(self, job: str, state: State) -> None:
        if time.monotonic() - self._began_at > _WARN_AFTER_S and not self._has_warned_about_waiting:
            log.warning("waiting for Slurm to start jobs (job %s is %s)", job, state.word)
            self._has_warned_about_waiting = True

    def _drop(self, worker: _Worker, reason: str) -> _Outcomes:
        """Remove a useless worker without replacing it. Raises ConfigError if it was the last."""
        outcomes = self._remove(worker)
        self._n_workers -= 1
        if not self._workers:
            raise ConfigError(f"executor: {reason}")
        log.warning("%s", reason)
        return outcomes

    def _remove(self, worker: _Worker, reason: str = "") -> _Outcomes:
        """Remove a worker. Its stages are lost for the `reason`, or are tried again if it is ""."""
        outcomes = self._collect_outcomes(worker)
        self._end(worker)
        self._offers.dismiss(worker.name)
        for number in worker.tasks.values():
            if reason:
                outcomes.append(self._lose(number, reason))
            else:
                self._resubmit(number)
        self._update_holders()
        return outcomes

    def _resubmit(self, number: int) -> None:
        self._offers.withdraw(number)
        self.submit(self._stages.pop(number))

    def _replace_jobs(self) -> None:
        """Submit jobs in place of ended ones while there is work. Raises ComponentError if no job is left."""
        n_missing = min(self._n_workers, len(self._stages)) - len(self._workers)
        if n_new := max(0, min(n_missing, self._max_jobs - self._n_submitted)):
            self._submit_jobs(n_new)
        elif not self._workers:
            raise ComponentError(
                "executor: all jobs have ended, and "
                f"executor.max_resubmissions={self._settings.max_resubmissions} is used up. Run the same command "
                "again: finished work is cached."
            )

    def _end(self, worker: _Worker) -> None:
        worker.job.end()
        del self._workers[worker.name]
        self._ended_jobs.append(worker.job)

    def stop(self) -> None:
        with self._jobs.defer_ending_signals():  # a second Ctrl-C must not leave a job behind
            self._pulse.stop()
            for worker in list(self._workers.values()):
                self._end(worker)
            for job in self._ended_jobs:
                job.wait_for_end()
            self._ended_jobs.clear()
            if self._probe:
                self._probe.unlink(missing_ok=True)
            clear_logs(self._logs)
            shutil.rmtree(self._folder, ignore_errors=True)


def _job_error(job: SlurmJob, what: str) -> str:
    """Return the error message for a useless job, with the end of its log."""
    output = job.last_lines()
    return f"Slurm job {job.name} {what}. " + (
        f"Its output:\n{output}\nIts log is {job.log}"
        if output
        else f"It wrote nothing to {job.log}. Do all hosts have this folder (run.results_dir) at the same path?"
    )


def _describe_death(exit_code: int, job: SlurmJob) -> str:
    log_of_it = f"the log of its job {job.name} is {job.log}"
    if exit_code >= 0:
        return (
            f"the worker process ended with exit code {exit_code}: a component or a library under it ended the "
            f"process instead of raising an exception that says why; {log_of_it}"
        )
    name = signal.Signals(-exit_code).name
    if name == "SIGKILL":
        return (
            f"the worker process was killed ({name}), most likely because memory ran out ({log_of_it}). Raise "
            "executor.mem_gb, or lower run.documents_per_block."
        )
    return f"the worker process was ended by {name} (SIGSEGV, SIGABRT: a crash in a library); {log_of_it}"
