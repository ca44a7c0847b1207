"""Peak memory of sweeps of 1, 4 and 16 cells, which must equal the peak of the largest stage."""

from collections.abc import Sequence

from benchmarks import crud_rag, sweep
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

_AXES = {
    "top_k": [str(number) for number in range(1, 17)],
    "chunk.size": [str(64 + 32 * number) for number in range(16)],
}
_NOISE = 1.1
"""Tolerance, because the memory that an allocator leaves unused varies between runs."""


def measure(settings: Settings) -> list[Measure]:
    """Compare, for each axis, 16 cells with the larger of its two outermost cells run alone."""
    data = settings.scratch / "data"
    crud_rag.write_subset(settings.crud_rag, data, settings.scale.n_subset_documents, settings.scale.n_subset_items)
    return [_along(settings, axis, values) for axis, values in _AXES.items()]


def _along(settings: Settings, axis: str, values: Sequence[str]) -> Measure:
    def peak(chosen: Sequence[str]) -> float:
        folder = settings.scratch / f"{axis}-{'-'.join(chosen)}"
        return sweep.run(folder, settings.scratch / "data", f"{axis}={','.join(chosen)}", "tracking=none").peak_gib

    single = max(peak(values[:1]), peak(values[-1:]))
    few, many = peak(values[::5]), peak(values)
    detail = f"1 cell {single:.2f} GiB, 4 cells {few:.2f} GiB, 16 cells {many:.2f} GiB"
    return Measure(f"peak of 16 cells along {axis}", many / single, "x", detail, Bound(_NOISE))
