"""What steps tell of themselves besides their results: what they left out, what they chose and why."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import pyarrow as pa

from components.json_value import Json
from runner.engine.stage import StageGroup
from runner.engine.stage_run import Run

LINE = "line"
"""Under this name facts may hold a sentence, which is shown at the end of the sweep."""


class StepReport(StageGroup):
    """A frozen dataclass of the stages that it reads; `step` is the name of the step, as of its axis."""

    step: ClassVar[str]

    @abstractmethod
    def facts(self, run: Run) -> Mapping[str, Json]:
        """For `cell.json`, with a `line` where there is something to tell."""

    def columns(self, run: Run) -> Mapping[str, pa.Array]:
        """For the table of samples, a row per sample."""
        return {}
