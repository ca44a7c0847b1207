"""Comparison of cells as a frame."""

from typing import TYPE_CHECKING

from analysis import comparison, comparison_family, comparison_records
from analysis.comparison_family import Family
from analysis.frames.metrics_frame import add_axes
from components.statistics import PairedTest
from runner.results import LoadedSweep

if TYPE_CHECKING:
    import pandas as pd

_DTYPES = {
    "cell_id": "string",
    "verdict": "string",
    "mean": "float64",
    "difference": "float64",
    "ci_low": "float64",
    "ci_high": "float64",
    "p_adjusted": "float64",
    "detectable_difference": "float64",
    "n": "Int64",
    "n_clusters": "Int64",
    "own_mean": "float64",
    "n_own": "Int64",
    "n_left_out": "string",
}


def comparison_frame(sweep: LoadedSweep, metric: str, baseline: str, alpha: float) -> "pd.DataFrame":
    """Return the frame of `Sweep.compare`."""
    import pandas as pd

    parsed = sweep.metric(metric or sweep.headline_metric())
    test = PairedTest(confidence=1 - alpha)
    family = comparison.compare_cells(sweep, parsed, test, baseline=baseline, alpha=alpha)
    rows = [*_baseline_rows(family), *comparison_records.as_table(family)]
    columns = {name: pd.array([row.get(name) for row in rows], dtype=dtype) for name, dtype in _DTYPES.items()}
    return add_axes(pd.DataFrame(columns), sweep)


def _baseline_rows(family: Family) -> list[dict[str, object]]:
    standing = family.baseline
    return [
        {
            "cell_id": cell.cell_id,
            "verdict": "best" if family.baseline_is_best else "baseline",
            "mean": standing.mean,
            "n": family.n,
            "n_clusters": family.n_clusters,
            "own_mean": standing.own_mean,
            "n_own": standing.n_own,
            "n_left_out": comparison_family.exclusion_text(standing.left_out),
        }
        for cell in standing.cells
    ]
