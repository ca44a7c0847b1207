"""Real sweeps, run by python -m runner in a separate process."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.child import gib

GRID: Mapping[str, tuple[str, ...]] = {
    "chunk.size": ("64", "128", "256", "512"),
    "retriever": ("bm25", "dense", "hybrid"),
    "top_k": ("2", "4", "6", "8", "10"),
}
"""60 cells."""

N_GRID_CELLS = 60


@dataclass(frozen=True)
class Run:
    """Costs of a command: seconds from start to exit, imports included; seconds of cores, with its child processes; and
    the peak resident memory of the largest process. `output` is what it printed.
    """

    seconds: float
    peak_gib: float
    core_seconds: float
    output: str = ""


def format_overrides(axes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the axes in the form that a user types."""
    return [f"{name}={','.join(values)}" for name, values in axes.items()]


def run(folder: Path, data: Path | None, *overrides: str) -> Run:
    """Run a sweep over the CRUD-RAG data under `data`, or over the bundled data for None.

    Results and store are in `folder`. Raises RuntimeError if the sweep fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    dataset = ["dataset=crud_rag", f"dataset.root={data}"] if data else []
    command = [sys.executable, "-m", "runner", "-m", *dataset, *overrides]
    path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": path}
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read().decode("utf-8", errors="replace")
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: ended with exit code {process.returncode}:\n{said[-2000:]}")
    return Run(seconds, gib(usage.ru_maxrss), usage.ru_utime + usage.ru_stime, said)


def stage_seconds(folder: Path) -> dict[str, float]:
    """Return, by kind, the seconds of all stages whose results are in the folder's store."""
    from runner.engine.store import Store

    seconds: dict[str, float] = {}
    for entry in Store(folder / "results" / "store").entries():
        kind = entry.manifest.kind
        seconds[kind] = seconds.get(kind, 0.0) + entry.manifest.seconds
    return seconds
