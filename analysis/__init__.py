"""From the results of sweeps to tables and tests.

import analysis

sweep = analysis.load("results/<sweep id>")
sweep.best("rouge_l").axes
sweep.table("rouge_l", "topic/funds:rouge_l")
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.sweeps import Sweep

__all__ = ["load"]


def load(sweep: str | Path, results_dir: str | Path = "results") -> "Sweep":
    """The sweep in a folder, or of that id in `results_dir`, with all of its cells. Raises DataError."""
    from analysis.sweeps import open_sweep

    return open_sweep(str(sweep), Path(results_dir))
