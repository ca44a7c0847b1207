"""Time of a sweep's report and size of its page, for 60 cells with 4,000 samples each."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks import many_samples
from benchmarks.child import gib
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

_N_SAMPLES = 4_000
_BYTES_PER_MIB = 1 << 20


def measure(settings: Settings) -> list[Measure]:
    """Return the time of the whole command, imports included."""
    sweep = many_samples.write(settings.scratch / "many", _N_SAMPLES)
    path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "analysis", "report", str(sweep)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: ended with exit code {process.returncode}")
    n_cells = len(list(sweep.glob("*/cell.json")))
    of = f"{n_cells} cells with {_N_SAMPLES:,} samples each"
    size = (sweep / "report.html").stat().st_size / _BYTES_PER_MIB
    return [
        Measure("time of cores", usage.ru_utime + usage.ru_stime, "s", of, Bound(120)),
        Measure("peak memory", gib(usage.ru_maxrss), "GiB", of, Bound(2)),
        Measure("size of the page", size, "MiB", of, Bound(5)),
    ]
