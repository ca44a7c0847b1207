"""What a judge settles about a sample before it sees an answer, as JSON that the runner keeps."""

from typing import Any

from components.errors import ComponentError
from components.protocols import JudgePreparation
from components.records import Sample, ScoreState

Prepared = dict[str, Any]
"""`state`: "value" if answers can be judged, otherwise the state that all of them get; `reason`; and whatever else the
judge needs to know about the sample.
"""


def prepared(state: ScoreState, reason: str, **more: Any) -> Prepared:
    """What is settled about one sample."""
    return {"state": state.value, "reason": reason, **more}


def prepared_for(preparation: JudgePreparation, sample: Sample) -> Prepared:
    """What was settled about a sample. Raises ComponentError if nothing was."""
    if sample.id not in preparation:
        raise ComponentError(
            f"sample {sample.id!r}: nothing was prepared for it ({len(preparation)} samples were prepared); "
            "expected what `prepare` returned for all samples that are judged"
        )
    found: Prepared = preparation[sample.id]
    return found
