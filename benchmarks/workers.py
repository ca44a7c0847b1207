"""Gain from a second worker: 40 cells of the bundled data with one worker and with two, side by side."""

from collections.abc import Sequence

from benchmarks import sweep
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

_CELLS = (
    "chunk.size=64,128",
    "retriever=bm25,dense,hybrid,hybrid_rerank",
    "top_k=2,3,4,5,8",
    "run.progress=false",
)
_N_TIMES = 3
_N_CORES = 2
_WITHOUT_MLFLOW = "tracking=none"


def measure(settings: Settings) -> list[Measure]:
    """Return the fastest of several whole commands each, start-up included, taken in turns.

    Other work of the machine therefore affects both. The bound assumes two cores without other work. MLflow's process
    uses one core part of the time anyway, so two workers share the rest. Half the time of all cores is the best
    possible result.
    """
    return [
        *_compare_workers(settings, "without MLflow", (_WITHOUT_MLFLOW,), Bound(1.6, at_least=True)),
        *_compare_workers(settings, "with MLflow", (), None),
    ]


def _compare_workers(settings: Settings, name: str, overrides: Sequence[str], bound: Bound | None) -> list[Measure]:
    runs: dict[int, list[sweep.Run]] = {1: [], 2: []}
    for turn in range(_N_TIMES):
        for n_workers, before in runs.items():
            folder = settings.scratch / f"{name}-{n_workers}-{turn}"
            before.append(sweep.run(folder, None, *_CELLS, *overrides, f"run.workers={n_workers}"))
    one, two = (min(runs[n], key=lambda run: run.seconds) for n in (1, 2))
    at_best = one.seconds / (two.core_seconds / _N_CORES)
    detail = f"{one.seconds:.1f} s / {two.seconds:.1f} s; {at_best:.2f} if no core ever waited"
    return [
        Measure(f"40 cells {name}, 1 worker", one.seconds, "s", f"{one.core_seconds:.1f} s of cores"),
        Measure(f"40 cells {name}, 2 workers", two.seconds, "s", f"{two.core_seconds:.1f} s of cores"),
        Measure(f"1 worker over 2, {name}", one.seconds / two.seconds, "x", detail, bound),
    ]
