"""Samples with a failure, and its causes, as a frame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.forensics import all_verdicts
from analysis.frames.samples_frame import samples_frame
from runner.results import CellResult, LoadedSweep

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("subset", "topic", "task", "question", "state", "error_class", "error")
_DTYPES = {
    "stage": "string",
    "outcome": "string",
    "failure": "string",
    "is_uncertain": "boolean",
    "doubts": "string",
    "rank_needed": "Int64",
}


def failures_frame(sweep: LoadedSweep, cells: Sequence[CellResult]) -> "pd.DataFrame":
    """Return the frame of `Sweep.failures`."""
    import pandas as pd

    with_samples = [cell for cell in cells if (sweep.folder_of(cell) / "samples.parquet").is_file()]
    frame = samples_frame(sweep, with_samples, _COLUMNS)
    # Both frames have the rows of the cells' files, in the same order.
    why = all_verdicts(sweep, with_samples)[list(_DTYPES)].astype(_DTYPES)
    return pd.concat([frame, why], axis="columns")[why["failure"] != ""].reset_index(drop=True)
