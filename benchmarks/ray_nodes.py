"""A sweep on a Ray cluster of two nodes. One node dies during the sweep, and two workers of the other.

The numbers must equal the numbers of one process, and nothing may be left behind. As root on Linux, each node has a
separate network namespace.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from runner.results import OK, read_cells

if TYPE_CHECKING:
    from tests.runner.engine.executors.ray_bed import Bed

_GRID = ("chunk.size=64,128", "retriever=bm25,dense,hybrid", "top_k=2,3,4,5")
_STAGES_BEFORE = (20, 60, 100)
"""Numbers of finished stages at which the node dies, and then one worker each."""

_MAX_SECONDS = 300.0


def measure(settings: Settings) -> list[Measure]:
    """Return the number of cells with different metrics, and of leftover files."""
    from tests.runner.engine.executors.ray_bed import Bed

    bed = Bed()
    try:
        bed.start("head", 2)
        bed.start("other", 1)
        process = _sweep(bed, settings.scratch / "ray", "ray")
        _kill_some(bed, process, settings.scratch / "ray")
        _end(process)
        _end(_sweep(bed, settings.scratch / "local", "local"))
    finally:
        bed.close()
    found, wanted = (_metrics(settings.scratch / name) for name in ("ray", "local"))
    others = sum(metrics != found.get(cell_id) for cell_id, metrics in wanted.items())
    temporary = _count((settings.scratch / "ray" / "store" / "tmp").iterdir())
    detail = f"{len(wanted)} cells; a node and two workers were killed"
    return [
        Measure("cells with other metrics", others, "", detail, Bound(0)),
        Measure("temporary files left", temporary, "", detail, Bound(0)),
    ]


def _sweep(bed: "Bed", results: Path, executor: str) -> "subprocess.Popen[str]":
    overrides = (*_GRID, f"executor={executor}", f"run.results_dir={results}", "tracking=none", "run.progress=false")
    return bed.command("-m", "runner", "-m", *overrides)


def _kill_some(bed: "Bed", process: "subprocess.Popen[str]", results: Path) -> None:
    node, *workers = _STAGES_BEFORE
    _wait_for(node, process, results)
    bed.kill("other")
    for n_stages in workers:
        _wait_for(n_stages, process, results)
        here = set(bed.processes("head"))
        os.kill(next(pid for pid in bed.workers if pid in here), signal.SIGKILL)


def _wait_for(n_stages: int, process: "subprocess.Popen[str]", results: Path) -> None:
    limit = time.monotonic() + _MAX_SECONDS
    while _count((results / "store" / "entries").glob("*/*/*/manifest.json")) < n_stages:
        if process.poll() is not None or time.monotonic() > limit:
            raise AssertionError(f"the sweep never had {n_stages} results: {process.communicate(timeout=10)[0]}")
        time.sleep(0.02)


def _count(paths: Iterable[Path]) -> int:
    return sum(1 for _ in paths)


def _end(process: "subprocess.Popen[str]") -> None:
    output, _ = process.communicate(timeout=_MAX_SECONDS)
    assert process.returncode == 0, output


def _metrics(results: Path) -> dict[str, object]:
    (sweep,) = {path.parent for path in results.glob("*/sweep.json")}
    cells = list(read_cells(sweep))
    assert cells, f"no cell in {sweep}"
    assert all(cell.status == OK for cell in cells), [cell.reason for cell in cells]
    return {cell.cell_id: cell.metrics for cell in cells}
