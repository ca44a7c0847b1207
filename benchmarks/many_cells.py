"""Cost of hundreds of stored cells in seconds and in memory, which hardly grows with them."""

from benchmarks import sweep
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

_FEW = {
    "retriever": ("bm25", "dense", "hybrid", "hybrid_rerank"),
    "top_k": ("2", "4", "6", "8", "10"),
    "chunk.overlap": ("0", "0.1", "0.2", "0.3", "0.4"),
    "chunk.size": ("64",),
}
_MANY = {**_FEW, "chunk.size": ("64", "96", "128", "192", "256")}
_N_FEW, _N_MANY = 100, 500
_KIB_PER_GIB = 1 << 20


def measure(settings: Settings) -> list[Measure]:
    """Return times and memory of whole commands over the bundled data, with all stages in the store.

    With logging, MLflow's process is the largest. Without it, the sweep's process is the only one.
    """
    folder = settings.scratch / "many"
    many, few = sweep.format_overrides(_MANY), sweep.format_overrides(_FEW)
    first = sweep.run(folder, None, *many, "tracking=none")
    logged = {n: sweep.run(folder, None, *axes) for n, axes in ((_N_FEW, few), (_N_MANY, many))}
    alone = {n: sweep.run(folder, None, *axes, "tracking=none") for n, axes in ((_N_FEW, few), (_N_MANY, many))}
    return [
        Measure(f"{_N_MANY} kept cells", logged[_N_MANY].seconds, "s", _times(logged[_N_MANY], first), Bound(30)),
        Measure("the same without MLflow", alone[_N_MANY].seconds, "s", _times(alone[_N_MANY], first), Bound(20)),
        _memory_per_cell("memory of MLflow's process per cell", logged),
        _memory_per_cell("memory of the sweep's process per cell", alone),
    ]


def _times(run: sweep.Run, first: sweep.Run) -> str:
    return f"{run.core_seconds:.1f} s of cores; the first time {first.seconds:.0f} s"


def _memory_per_cell(name: str, runs: dict[int, sweep.Run]) -> Measure:
    few, many = runs[_N_FEW].peak_gib, runs[_N_MANY].peak_gib
    per_cell_kib = (many - few) / (_N_MANY - _N_FEW) * _KIB_PER_GIB
    detail = f"peak of {_N_FEW} cells {few:.3f} GiB, of {_N_MANY} cells {many:.3f} GiB"
    return Measure(name, per_cell_kib, "KiB", detail, Bound(80))
