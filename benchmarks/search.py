"""Searches replayed on stored grids: the share of the cells that each strategy needs to come near the best.

The grid is run once, from parts without a model. A replay reads its scores, and runs no pipeline.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks import sweep
from benchmarks.measure import Measure
from benchmarks.settings import Settings
from components.errors import MissingExtraError
from runner.launch.search_strategies import AxisShape, Point, make_strategy
from runner.pipeline.search_settings import SpaceSearchSettings, Strategy
from runner.results import load, read_sweep

N_SEEDS = 200
_NEAR = 0.01

GRID: Mapping[str, tuple[str, ...]] = {
    "chunk.size": ("64", "96", "128", "192", "256", "384"),
    "chunk.overlap": ("0.0", "0.25", "0.5"),
    "embedder": ("lsa", "hashing"),
    "retriever": ("bm25", "dense", "hybrid"),
    "top_k": ("2", "4", "8"),
}
"""324 combinations, of which 54 are equal to others: BM25 reads no vectors."""

_MODELS = frozenset({"embedder"})
_ORDERED = frozenset({"chunk.size", "chunk.overlap", "top_k"})
_METRICS = ("contains_all", "passage_coverage", "ndcg@10", "rouge_l")
_FAST = (
    "metrics=qa",
    "tracking=none",
    "run.progress=false",
    "run.pictures=none",
    "metrics.interval.n_resamples=100",
)

Table = Mapping[Point, tuple[str, float]]
"""Cell and score of every point."""


def shapes(grid: Mapping[str, Sequence[str]]) -> list[AxisShape]:
    """Return the axes of a grid as strategies see them."""
    return [AxisShape(len(values), name in _ORDERED, name in _MODELS) for name, values in grid.items()]


def share_needed(table: Table, axes: Sequence[AxisShape], strategy: Strategy, seed: int, near: float = _NEAR) -> float:
    """Return the share of the distinct cells that a search runs until one is within `near` of the best.

    As in a sweep, a proposal that equals an earlier cell is not counted.
    """
    best = max(score for _, score in table.values())
    n_cells = len({cell for cell, _ in table.values()})
    proposals = make_strategy(axes, SpaceSearchSettings(strategy, seed=seed))
    points, tried = next(proposals), dict[str, None]()
    while True:
        for point in points:
            cell, score = table[point]
            tried[cell] = None
            if score >= best - near:
                return len(tried) / n_cells
        points = proposals.send([(table[point][1],) for point in points])


def measure(settings: Settings) -> list[Measure]:
    """Return the quantiles of the shares by metric and strategy. Leaves TPE out without its extra."""
    folder = settings.scratch / "demo"
    sweep.run(folder, None, *_FAST, *sweep.format_overrides(GRID))
    return [each for metric in _METRICS for each in _of_metric(folder, metric)]


def _of_metric(folder: Path, metric: str) -> Iterator[Measure]:
    table = _read_stored(folder, metric)
    scores = dict(table.values())
    near = sum(score >= max(scores.values()) - _NEAR for score in scores.values())
    detail = f"of {len(scores)} cells, {near} of them within {_NEAR} of the best; {N_SEEDS} seeds"
    for strategy in (Strategy.RANDOM, Strategy.GREEDY, Strategy.TPE):
        try:
            needed = [share_needed(table, shapes(GRID), strategy, seed) for seed in range(N_SEEDS)]
        except MissingExtraError:
            continue
        for name, quantile in (("median", 0.5), (".9 quantile", 0.9)):
            yield Measure(
                f"{metric}, {strategy.value}: {name}", 100 * float(np.quantile(needed, quantile)), "%", detail
            )


def _read_stored(folder: Path, metric: str) -> Table:
    """Return the stored scores by point. Equal requests share a cell."""
    (file,) = (folder / "results").glob("*/sweep.json")
    stored = load(file.parent)
    values = {cell.cell_id: cell.value(metric) for cell in stored.cells}
    by_overrides = dict(_requests(file.parent))
    table: dict[Point, tuple[str, float]] = {}
    for point in product(*(range(len(own)) for own in GRID.values())):
        given = {name: own[place] for place, (name, own) in zip(point, GRID.items(), strict=True)}
        cell_id = by_overrides[frozenset(f"{name}={value}" for name, value in given.items())]
        score = values[cell_id]
        assert score is not None, "the demo has references and gold"
        table[point] = cell_id, score
    return table


def _requests(folder: Path) -> Iterator[tuple[frozenset[str], str]]:
    """Yield the swept overrides of every request, with the id of its cell."""
    for cell in read_sweep(folder).cells:
        for overrides in (cell["overrides"], *cell["same_as"]):
            yield frozenset(each for each in overrides if each.partition("=")[0] in GRID), cell["cell_id"]
