"""Traces as Langfuse exports them: a trace with its observations and scores, or a list or lines of these.

See https://langfuse.com/docs/observability/data-model.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from components.errors import DataError
from components.json_value import Json, name_kind
from runner.testset.production.trace_files import read_values
from runner.testset.production.traced_questions import (
    SkippedTrace,
    TracedQuestion,
    feedback_label,
    read_answer,
    read_passages,
    read_trace,
)

_EXPECTED = 'traces of Langfuse as JSON, {"id", "input", "output", "observations", "scores"}'


def read_langfuse(file: Path, feedback: str) -> Iterator[TracedQuestion | SkippedTrace]:
    """Yield the question of each trace in a file. `feedback` is the name of the score with it, "" for any.

    Raises DataError for a file that has no traces of Langfuse.
    """
    for location, value in read_values(file, _EXPECTED):
        if not isinstance(value, dict):
            raise DataError(f"{location}: got a {name_kind(value)}, expected {_EXPECTED}")
        listed = value.get("data") if isinstance(value.get("data"), list) else [value]  # pages of the API have `data`
        for trace in listed if isinstance(listed, list) else []:
            yield _question(trace, location, feedback)


def _question(value: Json, location: str, feedback: str) -> TracedQuestion | SkippedTrace:
    whole = value if isinstance(value, dict) else {}
    trace: Mapping[str, Json] = {**whole, **(whole["trace"] if isinstance(whole.get("trace"), dict) else {})}
    if not isinstance(trace.get("id"), str):
        raise DataError(f"{location}: a trace has no `id`, expected {_EXPECTED}")
    observations = sorted(_objects(trace, "observations"), key=lambda observation: str(observation.get("startTime")))
    first = next((observation for observation in observations if not observation.get("parentObservationId")), {})
    if first.get("level") == "ERROR":
        return SkippedTrace("failed")
    inputs = trace.get("input") if trace.get("input") is not None else first.get("input")
    outputs = trace.get("output") if trace.get("output") is not None else first.get("output")
    if not read_answer(outputs):
        generations = [observation for observation in observations if observation.get("type") == "GENERATION"]
        outputs = generations[-1].get("output") if generations else None
    return read_trace(
        trace["id"],
        inputs,
        outputs,
        _passages(observations),
        str(trace.get("sessionId") or ""),
        _seconds(trace.get("timestamp")),
        _feedback(_objects(trace, "scores"), feedback),
    )


def _objects(value: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    children = value.get(name)
    return [each for each in children if isinstance(each, dict)] if isinstance(children, list) else []


def _passages(observations: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return the documents of observations of retrieval: by their type, or by their name in older exports."""
    searches = [observation for observation in observations if observation.get("type") == "RETRIEVER"] or [
        observation for observation in observations if "retriev" in str(observation.get("name")).lower()
    ]
    return [text for search in searches for text in read_passages(search.get("output"))]


def _feedback(scores: Sequence[Mapping[str, Json]], name: str) -> str:
    """Return the last score by that name. Without a name, scores of evaluators are ignored."""
    eligible = [score for score in scores if (score.get("name") == name if name else score.get("source") != "EVAL")]
    if not eligible:
        return ""
    last = max(eligible, key=lambda score: str(score.get("timestamp")))
    is_text = last.get("dataType") == "CATEGORICAL" and isinstance(last.get("stringValue"), str)
    return feedback_label(last["stringValue"] if is_text else last.get("value"))


def _seconds(value: Json) -> float:
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0
