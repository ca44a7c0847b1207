"""Small sweeps for the tests of the runner: composed and run in this process, or through the command line."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hydra.types import RunMode
from pyarrow.parquet import read_table

from runner.engine.stage import Stage
from runner.engine.store import Store, StoredResult
from runner.engine.worker import find_or_make
from runner.launch import grid_launcher
from runner.launch.composed_jobs import JobComposer
from runner.launch.hydra_state import isolate_hydra
from runner.launch.request import check_jobs
from runner.launch.sweep import run_sweep
from runner.pipeline.cell_graph import Graph
from runner.pipeline.planned_cells import CellRequest, Job, SweepPlan, plan_sweep
from runner.results import CellResult, SweepResult, read_cells, read_sweep
from tests.forked import ForkedCommand, run_forked

T = TypeVar("T")
Started = ForkedCommand | subprocess.Popen[str]

REPOSITORY = Path(__file__).resolve().parents[2]
SWEEP_ID = "a-sweep"

SMALL = ("dataset.limit=12", "retriever=bm25", "embedder=hashing", "metrics.interval.n_resamples=100")
"""A cell of a second: 12 samples, no model of any kind."""

QUIET = ("tracking=none", "run.progress=false", "run.workers=1")
"""A single process, because starting workers takes longer than these small cells."""
RANKING_ONLY = ("metrics=retrieval",)
FEW_METRICS = (
    "metrics.scores.trec.measures=[ndcg@10]",
    *(f"~metrics.scores.{name}" for name in ("bleu", "f1", "em", "length", "mrr_per_document")),
)
SCRIPTED = (*SMALL, *FEW_METRICS, *QUIET, "llm=scripted", "top_k=2,4", "run.workers=2")
"""Two cells whose answers can be made slow, to be killed and interrupted; with two workers, as by default."""


def compose_job(*overrides: str) -> Job:
    """Return the job of `python -m runner` with these overrides. Later overrides win."""
    return _composer().compose(overrides, 0).job


@cache
def _composer() -> JobComposer:
    """Return one composer for all tests of the process, because they choose the same options repeatedly."""
    grid_launcher.register()
    with isolate_hydra() as hydra:
        loader = hydra.config_loader
        return JobComposer(loader, loader.load_configuration("config", [], RunMode.MULTIRUN))


def small_job(folder: Path, *overrides: str) -> Job:
    """Return the job of a small cell with its results and store in `folder`."""
    return compose_job(*SMALL, *QUIET, f"run.results_dir={folder / 'results'}", *overrides)


def small_request(*overrides: str) -> CellRequest:
    """A small cell with its components built."""
    (request,) = check_jobs([compose_job(*SMALL, *QUIET, *overrides)])
    return request


def run_small(folder: Path, *overrides_of_cells: Sequence[str], sweep_id: str = SWEEP_ID) -> int:
    """Run a sweep with a small cell per sequence of overrides in this process, and return its exit code."""
    return run_sweep([small_job(folder, *overrides) for overrides in overrides_of_cells or [()]], sweep_id, SMALL)


def own_data(folder: Path, texts: Mapping[str, str], samples: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Write a custom data set (documents by id, samples) into `folder`, and return the overrides that choose it."""
    files = {"documents": [{"id": an_id, "text": text} for an_id, text in texts.items()], "samples": samples}
    for name, records in files.items():
        lines = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    places = [f"dataset.{name}={folder / name}.jsonl" for name in files]
    return ("dataset=jsonl", *places, "dataset.limit=null")


def samples_in(folder: Path, sweep_id: str = SWEEP_ID) -> list[dict[str, Any]]:
    """The rows of the samples' table of the only cell."""
    (cell,) = cells_in(folder, sweep_id)
    rows: list[dict[str, Any]] = read_table(
        folder / "results" / sweep_id / cell.cell_id / "samples.parquet"
    ).to_pylist()
    return rows


def plan_small(folder: Path, *overrides_of_cells: Sequence[str]) -> SweepPlan:
    """Return the plan of small cells. Planning stores their data sets in the store in `folder`."""
    requests = check_jobs([small_job(folder, *overrides) for overrides in overrides_of_cells])
    return plan_sweep(requests, store_of(folder))


def small_graph(*overrides: str) -> Graph:
    """Return the stages of a small cell, planned with a temporary store."""
    with TemporaryDirectory() as folder:
        (cell,) = plan_sweep([small_request(*overrides)], Store(Path(folder))).cells
    return cell.graph


def read_or_make(stage: Stage[T], store: Store) -> T:
    """Return the result of a stage, and compute it first if it is missing."""
    return stage.codec.decode(find_or_make(stage, store).parts())


def store_of(folder: Path) -> Store:
    return Store(folder / "results" / "store")


def sweep_in(folder: Path, sweep_id: str = SWEEP_ID) -> SweepResult:
    return read_sweep(folder / "results" / sweep_id)


def cells_in(folder: Path, sweep_id: str = SWEEP_ID) -> list[CellResult]:
    return list(read_cells(folder / "results" / sweep_id))


def entries_by_kind(store: Store) -> dict[str, list[StoredResult]]:
    found: dict[str, list[StoredResult]] = {}
    for entry in store.entries():
        found.setdefault(entry.manifest.kind, []).append(entry)
    return found


def read_unsealed(path: Path) -> str:
    """Return a JSON results file without its checksum, so that a test can change and rewrite it."""
    return re.sub(r',\n *"checksum": "[0-9a-f]{64}"\n}\n$', "\n}\n", path.read_text(encoding="utf-8"))


def flip_a_byte(path: Path) -> None:
    """Damages a file without changing its size."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def environment() -> dict[str, str]:
    """Return our environment, with a terminal that is wide enough for whole tables."""
    return {**os.environ, "COLUMNS": "400"}


def start_command(folder: Path, *arguments: str, module: str = "runner") -> ForkedCommand:
    """Start `python -m <module>` in `folder`, in a separate process group."""
    return ForkedCommand(module, arguments, folder, environment())


def run_command(
    folder: Path, *arguments: str, module: str = "runner", timeout_s: float = 120
) -> "subprocess.CompletedProcess[str]":
    """Runs `python -m <module>` in `folder` to its end."""
    return run_forked(module, arguments, folder, environment(), timeout_s)


def end_group(process: Started, with_signal: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process that `start_command` started, and to its workers."""
    if process.poll() is None:
        os.killpg(process.pid, with_signal)


def wait_until(condition: Callable[[], bool], process: Started, timeout_s: float = 60) -> None:
    """Return as soon as the condition holds. Fail if the process ends first, or after the timeout."""
    limit = time.monotonic() + timeout_s
    while not condition():
        if process.poll() is not None or time.monotonic() > limit:
            end_group(process)
            raise AssertionError(f"the awaited moment never came: {process.communicate(timeout=10)}")
        time.sleep(0.01)


def metrics_text(sweep_dir: Path) -> dict[str, str]:
    """Return the metrics of every cell as written in `cell.json`, byte for byte."""
    texts = {}
    for path in sorted(sweep_dir.glob("*/cell.json")):
        lines = path.read_text(encoding="utf-8").splitlines()
        (texts[path.parent.name],) = [line for line in lines if line.startswith('"metrics": ')]
    return texts


def only_sweep(folder: Path) -> Path:
    """The one sweep folder under the default results folder."""
    (path,) = sweeps(folder)
    return path


def sweeps(folder: Path) -> list[Path]:
    """All sweep folders under the default results folder, oldest first."""
    return sorted(path.parent for path in (folder / "results").glob("*/sweep.json"))
