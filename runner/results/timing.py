"""Noise of the seconds per question of a cell, from its results.

A stage that serves all questions together is timed once. Its noise is the range of its seconds over cells with the same
components, which differ in numbers such as a chunk size or top_k. That range includes true differences, so it is an
upper bound. The noise of a single measurement is unknown, so all of its time counts as noise.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import hypot

from components.json_value import Json
from runner.results.cell_result import CellResult

_SD_TO_95 = 1.645
"""Standard deviations between the median and the 95th percentile of a normal distribution."""

_ALL_STAGES = "all stages"

Components = tuple[tuple[str, Json], ...]


def latency_noise(cells: Sequence[CellResult]) -> dict[str, float]:
    """Return the noise of each cell's median seconds per question, in seconds, by cell id.

    `cells` are all cells of a sweep. A stage that all of them share cannot make one slower, so its noise is left out.
    {} for no cells.
    """
    shared = _shared_kinds(cells)
    measured: dict[tuple[Components, str], set[float]] = {}
    for cell in cells:
        for kind, seconds in _stages(cell).items():
            measured.setdefault((_components(cell), kind), set()).add(seconds)
    return {
        cell.cell_id: hypot(
            _answer_noise(cell),
            *(
                _measure_spread(measured[_components(cell), kind], seconds)
                for kind, seconds in _stages(cell).items()
                if kind not in shared
            ),
        )
        for cell in cells
    }


def _stages(cell: CellResult) -> Mapping[str, float]:
    """Return seconds per question by kind of stage; as a single kind in results of an earlier version."""
    return cell.batched_s or {_ALL_STAGES: cell.latency_s.get("batched", 0.0)}


def _shared_kinds(cells: Sequence[CellResult]) -> set[str]:
    """Return the kinds whose seconds are equal in all cells, because they share the stage."""
    kinds = {kind for cell in cells for kind in _stages(cell)}
    return {kind for kind in kinds if len({_stages(cell).get(kind) for cell in cells}) == 1}


def _components(cell: CellResult) -> Components:
    """Return the axes that name components. Cells with equal components do the same kind of work."""
    return tuple(sorted((name, value) for name, value in cell.axes.items() if isinstance(value, str)))


def _measure_spread(measured: Iterable[float], fallback: float) -> float:
    values = list(measured)
    return max(values) - min(values) if len(values) > 1 else fallback


def _answer_noise(cell: CellResult) -> float:
    """Return the standard deviation of a single answer's seconds.

    Answers that all took equally long were timed together, so all of their time counts.
    """
    p50, p95 = cell.latency_s.get("p50", 0.0), cell.latency_s.get("p95", 0.0)
    spread = p95 - p50
    return spread / _SD_TO_95 if spread > 0 else max(p50 - cell.latency_s.get("batched", 0.0), 0.0)
