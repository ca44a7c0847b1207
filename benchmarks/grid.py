"""60 cells compared with the sum of their distinct stages, and with 60 runs that share nothing."""

import random
from collections.abc import Mapping
from itertools import product

from benchmarks import crud_rag, sweep
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

_N_SEPARATE_PER_RETRIEVER = 2


def measure(settings: Settings) -> list[Measure]:
    """Run the grid in one fresh store, then a seeded sample of its cells, each in a fresh store."""
    data = settings.scratch / "data"
    crud_rag.write_subset(settings.crud_rag, data, settings.scale.n_subset_documents, settings.scale.n_subset_items)
    folder = settings.scratch / "grid"
    grid = sweep.run(folder, data, *sweep.format_overrides(sweep.GRID), "tracking=none")
    stages = sweep.stage_seconds(folder)
    stages_s = sum(stages.values())
    separate = [
        sweep.run(settings.scratch / f"cell-{number}", data, *cell, "tracking=none").seconds
        for number, cell in enumerate(_sample())
    ]
    mean_s = sum(separate) / len(separate)
    one_by_one = f"{sweep.N_GRID_CELLS} x {mean_s:.1f} s (mean of {len(separate)} separate runs) / {grid.seconds:.1f} s"
    saved = sweep.N_GRID_CELLS * mean_s / grid.seconds
    together = f"{grid.seconds:.1f} s / {stages_s:.1f} s ({_longest(stages)})"
    return [
        Measure("time over unique stages", grid.seconds / stages_s, "x", together, Bound(1.15)),
        Measure("time of 60 separate runs", saved, "x", one_by_one, Bound(5, at_least=True)),
    ]


def _longest(stages: Mapping[str, float]) -> str:
    """Return the kinds of stages that took most of the time."""
    kinds = sorted(stages, key=lambda kind: -stages[kind])[:5]
    return ", ".join(f"{kind} {stages[kind]:.1f}" for kind in kinds)


def _sample() -> list[list[str]]:
    """Return cells as overrides, the same number for every retriever."""
    chooser = random.Random(0)
    chosen = []
    for retriever in sweep.GRID["retriever"]:
        rest = list(product(sweep.GRID["chunk.size"], sweep.GRID["top_k"]))
        for size, top_k in chooser.sample(rest, _N_SEPARATE_PER_RETRIEVER):
            chosen.append([f"chunk.size={size}", f"retriever={retriever}", f"top_k={top_k}"])
    return chosen
