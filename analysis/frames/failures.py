"""Samples in which something failed, and what."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.frames.samples import samples_frame
from runner.loaded import LoadedSweep
from runner.results import CellResult

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("subset", "topic", "task", "question", "state", "error_class", "error")
_WITH_A_TEXT = ("ok", "truncated", "not_asked")


def failures_frame(sweep: LoadedSweep, cells: Sequence[CellResult]) -> "pd.DataFrame":
    """As `Sweep.failures`."""
    frame = samples_frame(sweep, cells, _COLUMNS)
    return frame[~frame["state"].isin(_WITH_A_TEXT)].reset_index(drop=True)
