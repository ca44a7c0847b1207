"""The same 60 cells a second time, with all results in the store, MLflow included."""

from benchmarks import crud_rag, sweep
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings


def measure(settings: Settings) -> list[Measure]:
    """Return the seconds per cell of the whole command, and of commands that only plan or do not log."""
    data = settings.scratch / "data"
    crud_rag.write_subset(settings.crud_rag, data, settings.scale.n_subset_documents, settings.scale.n_subset_items)
    folder, axes = settings.scratch / "grid", sweep.format_overrides(sweep.GRID)
    first = sweep.run(folder, data, *axes, "tracking=mlflow")
    again = sweep.run(folder, data, *axes, "tracking=mlflow")
    unlogged = sweep.run(folder, data, *axes, "tracking=none")
    planned = sweep.run(folder, data, *axes, "tracking=none", "run.plan_only=true")
    per_cell = again.seconds / sweep.N_GRID_CELLS
    parts = {
        "start and plan": planned.seconds,
        "results": unlogged.seconds - planned.seconds,
        "MLflow": again.seconds - unlogged.seconds,
    }
    listed = ", ".join(f"{name} {spent:.1f}" for name, spent in parts.items())
    detail = f"{again.seconds:.1f} s in all ({listed}); the first time {first.seconds:.1f} s"
    return [Measure("seconds per cell", per_cell, "s", detail, Bound(0.4))]
