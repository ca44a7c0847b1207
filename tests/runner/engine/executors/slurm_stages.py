"""Stages that run in jobs of Slurm. Separate from the tests, whose modules load far more than a worker needs."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from runner.console.ending_signals import Interrupt
from runner.engine.executors.slurm import Cluster, Slurm
from runner.engine.schedule import ignore_progress, run_stages
from runner.engine.stage_run import Run
from runner.engine.store import Store
from tests.runner.engine.fake_stages import Adder, Left, Sum
from tests.runner.engine.process_stages import beat, noted


def nth_time(stage: Sum) -> int:
    """Record a start of the stage, and return the number of its starts."""
    calls = Path(stage.component.calls)  # type: ignore[union-attr]  # all have one here
    with calls.open("a", encoding="utf-8") as file:
        file.write(f"{stage.kind}\n")
    return noted(calls).count(stage.kind)


def add_the_third_time(stage: Sum, run: Run) -> int:
    if nth_time(stage) < 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 3


def never_end(stage: Sum, run: Run) -> int:
    nth_time(stage)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


def end_the_job(stage: Sum, number: signal.Signals) -> int:
    """The first time: by a signal to the process above the worker's."""
    if nth_time(stage) == 1:
        os.kill(os.getppid(), number)
        time.sleep(60)
    return 2


def lose_the_host(stage: Sum, run: Run) -> int:
    return end_the_job(stage, signal.SIGKILL)


def be_preempted(stage: Sum, run: Run) -> int:
    return end_the_job(stage, signal.SIGTERM)


def be_cancelled(stage: Sum, run: Run) -> int:
    """Cancel the own job with scancel at the first attempt."""
    return end_by_slurm(stage, ["scancel", os.environ["SLURM_JOB_ID"]])


def be_preempted_by_another(stage: Sum, run: Run) -> int:
    """Submit a job in a partition of higher priority that needs all nodes."""
    wanted = ["--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 1"]
    return end_by_slurm(stage, ["sbatch", *wanted])


def end_by_slurm(stage: Sum, command: list[str]) -> int:
    if nth_time(stage) == 1:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_"))}
        environment["SLURM_CONF"] = os.environ["SLURM_CONF"]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        time.sleep(60)
    return 2


def run_out_of_time(stage: Sum, run: Run) -> int:
    """Send the signal by which Slurm announces the time limit. The stage may still finish."""
    nth_time(stage)
    os.kill(os.getppid(), signal.SIGUSR2)
    return 5


def beat_in_a_job(folder: str) -> None:
    """The main process of one worker. A test runs it in a separate process."""
    beat_until_interrupted(folder, Slurm(Cluster.LOCAL, silence_s=1.0))


def beat_on_slurm(folder: str) -> None:
    """Do the same as `beat_in_a_job` in a Slurm job. SIGTERM interrupts it like Ctrl-C, as in the command."""
    signal.signal(signal.SIGTERM, Interrupt())
    beat_until_interrupted(folder, Slurm(cpus_per_worker=1, mem_gb=0.5, silence_s=5.0))


def beat_until_interrupted(folder: str, settings: Slurm) -> None:
    order = [Left(Adder(calls=f"{folder}/beats"), compute=beat)]
    store, sweep = Store(Path(folder) / "store"), Path(folder) / "sweep"
    with contextlib.suppress(KeyboardInterrupt):
        list(run_stages(order, store, settings, 1, ignore_progress, None, sweep))
