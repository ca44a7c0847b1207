"""Facts that steps report besides their results, such as left-out texts, or a choice and its reason."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import pyarrow as pa

from components.json_value import Json
from runner.engine.stage import StageGroup
from runner.engine.stage_run import Run
from runner.pipeline.corpus.reply_counts import ReplyCounts

LINE = "line"
"""Name of a fact that is a sentence, which is shown at the end of the sweep."""


class StepReport(StageGroup):
    """Base of reports: a frozen dataclass of the stages that the report reads. `step` is the axis of the step."""

    step: ClassVar[str]

    @abstractmethod
    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return facts for `cell.json`, with a `line` if there is something to report."""

    def count_replies(self, run: Run) -> Mapping[str, ReplyCounts]:
        """Return counts of replies by the name of the step, if it uses a language model."""
        return {}

    def columns(self, run: Run) -> Mapping[str, pa.Array]:
        """Return columns for the table of samples, one row per sample."""
        return {}
