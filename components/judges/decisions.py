"""What a judge decides about a sample before it sees an answer, as JSON that the runner keeps."""

from typing import Any

from components.errors import ComponentError
from components.protocols import JudgePreparation
from components.records import Sample, ScoreState

Decision = dict[str, Any]
"""`state`: "value" if answers can be judged, else the state that each of them gets; `reason`; what else is known."""


def decision(state: ScoreState, reason: str, **more: Any) -> Decision:
    """A decision about one sample."""
    return {"state": state.value, "reason": reason, **more}


def decision_of(preparation: JudgePreparation, sample: Sample) -> Decision:
    """What was decided about a sample. Raises ComponentError if nothing was."""
    if sample.id not in preparation:
        raise ComponentError(
            f"sample {sample.id!r}: nothing was prepared for it ({len(preparation)} samples were prepared); "
            "wanted what `prepare` returned for all samples that are judged"
        )
    found: Decision = preparation[sample.id]
    return found
