"""Facts about a sample that a judge determines before it sees an answer, as JSON that the runner stores."""

from components.errors import ComponentError
from components.json_value import Json
from components.protocols import JudgePreparation
from components.records import Sample, ScoreState

Prepared = dict[str, Json]
"""Facts about a sample. `state` is "value" if answers can be judged, else the state that all of them get. `reason`
explains it. Other keys are specific to the judge.
"""


def preparation_entry(state: ScoreState, reason: str, **more: Json) -> Prepared:
    """Return the facts about one sample."""
    return {"state": state.value, "reason": reason, **more}


def prepared_sample(preparation: JudgePreparation, sample: Sample) -> Prepared:
    """Return the facts about a sample. Raises ComponentError if the preparation lacks it."""
    if sample.id not in preparation:
        raise ComponentError(
            f"sample {sample.id!r}: got no preparation (only for {len(preparation)} other samples), expected the "
            "result of `prepare` for all judged samples"
        )
    entry: Prepared = preparation[sample.id]
    return entry
