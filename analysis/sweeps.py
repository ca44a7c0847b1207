"""A sweep on disk, and what a command line can name in it: the sweep itself, a metric of a subset, a cell."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.errors import DataError
from components.subsets import MACRO, OVERALL
from runner import results
from runner.results import RESULTS_DIR, CellResult

SMALLER_IS_BETTER = ("hallucination", "length", "context_tokens", "context_tokens_dropped")
"""Metrics of which less is better, or cheaper; of all others more is. A published variant goes with its metric."""

_BETWEEN_AXES = re.compile(r",(?=\s*[\w.@/]+=)")
_VARIANTS = ("_crud_compat", "_omnieval_compat")


@dataclass(frozen=True)
class Sweep:
    """A sweep's folder, the results of its finished cells in the order of the sweep, and the ids of the others."""

    folder: Path
    cells: tuple[CellResult, ...]
    unfinished: tuple[str, ...]

    def left_out(self, n_used: int) -> str:
        """A line about the cells that a table leaves out; empty if it has all of them."""
        n = len(self.cells) + len(self.unfinished) - n_used
        return f"left out: {n} cell(s) that failed, have no value or no result yet" if n else ""


@dataclass(frozen=True)
class SubsetMetric:
    """A metric over a subset, written "[subset:]metric"; without a subset it is over all samples."""

    subset: str
    metric: str

    @property
    def larger_is_better(self) -> bool:
        """False for `SMALLER_IS_BETTER`."""
        name = self.metric
        for variant in _VARIANTS:
            name = name.removesuffix(variant)
        return name not in SMALLER_IS_BETTER

    def value(self, cell: CellResult) -> float | None:
        """Of a cell; None where nothing could be scored."""
        return cell.value(self.metric, self.subset)

    def __str__(self) -> str:
        names = {OVERALL: "all samples", MACRO: "all subsets alike"}
        return f"{self.metric} of {names.get(self.subset, self.subset)}"


def open_sweep(text: str, results_dir: Path = RESULTS_DIR) -> Sweep:
    """The sweep in the folder `text`, or of that id in `results_dir`. Raises DataError."""
    folder = results.find_sweep(text, results_dir)
    cells = tuple(results.read_cells(folder))
    ids = [cell["cell_id"] for cell in results.read_sweep(folder).cells]
    return Sweep(folder, cells, tuple(sorted(set(ids) - {cell.cell_id for cell in cells})))


def find_metric(text: str, cells: Iterable[CellResult]) -> SubsetMetric:
    """What "[subset:]metric" stands for. Raises DataError naming the metrics or subsets that the cells have."""
    subset, _, metric = text.rpartition(":")
    wanted = SubsetMetric(subset or OVERALL, metric)
    metrics: dict[str, set[str]] = {}
    for cell in cells:
        for name, entries in cell.metrics.items():
            metrics.setdefault(name, set()).update(entries)
    if not metrics:
        raise DataError(f"--metric {text}: no cell of this sweep has any metric; did all of them fail?")
    if wanted.subset not in metrics:
        raise DataError(f"--metric {text}: no subset {wanted.subset!r}; there are: {_listed(metrics, wanted.subset)}")
    if metric not in metrics[wanted.subset]:
        known = ", ".join(sorted(metrics[wanted.subset]))
        raise DataError(f"--metric {text}: no metric {metric!r} in {wanted.subset}; there are: {known}")
    return wanted


def _listed(subsets: Iterable[str], wanted: str) -> str:
    """Names of subsets; of the topic x task matrix, which are many, only where one of them was wanted."""
    in_matrix = wanted.startswith("matrix/")
    names = sorted(name for name in subsets if name.startswith("matrix/") == in_matrix)
    return ", ".join([*names, *([] if in_matrix else ["matrix/<topic>/<task>"])])


def find_cell(text: str, cells: Sequence[CellResult]) -> CellResult:
    """The one cell whose id begins with `text`, or that has axis values such as "retriever=bm25,top_k=2".

    Raises DataError, naming candidates, if there are none or several.
    """
    if "=" in text:
        pairs = [pair.strip().partition("=") for pair in _BETWEEN_AXES.split(text)]
        wanted = {axis: _typed(value) for axis, _, value in pairs}
        found = [
            cell for cell in cells if all(_typed(shown(cell.axes.get(axis))) == value for axis, value in wanted.items())
        ]
    else:
        found = [cell for cell in cells if cell.cell_id.startswith(text)]
    if len(found) == 1:
        return found[0]
    axes = varying_axes(cells)
    listed = "".join(f"\n  {cell.cell_id}  {describe(cell, axes)}" for cell in found or cells)
    what = f"{len(found)} cells match, wanted one:" if found else "no cell matches; there are:"
    raise DataError(f"{text}: {what}{listed}")


def _typed(value: str) -> str:
    """A value without spaces, quotes and case, in which what is typed may differ from what is shown."""
    return re.sub(r"[\s'\"]", "", value).lower()


def axis_levels(cells: Sequence[CellResult]) -> dict[str, list[str | None]]:
    """Per axis the value of every cell as text, None where the cell does not use the axis."""
    names = dict.fromkeys(name for cell in cells for name in cell.axes)
    values = {name: [cell.axes.get(name) for cell in cells] for name in names}
    return {name: [None if value is None else shown(value) for value in row] for name, row in values.items()}


def varying_axes(cells: Sequence[CellResult]) -> list[str]:
    """Axes with more than one value among the cells that use them, without those that another one determines."""
    from analysis.statistics import determined_axes

    levels = axis_levels(cells)
    determined = determined_axes(levels)
    return [name for name, row in levels.items() if len({*row} - {None}) > 1 and name not in determined]


def describe(cell: CellResult, axes: Iterable[str]) -> str:
    """E.g. "retriever=bm25, top_k=2", of the axes that the cell uses."""
    used = (axis for axis in axes if cell.axes.get(axis) is not None)
    return ", ".join(f"{axis}={shown(cell.axes[axis])}" for axis in used)


def shown(value: Any) -> str:
    """An axis value as it is shown and typed; a dash for an axis that a cell does not use."""
    return "–" if value is None else str(value)
