"""Traces in MLflow's tracking store."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from components.errors import DataError
from components.json_value import Json
from components.limits import expected_one_of
from components.secrets.mask import mask_text
from runner.testset.production.traced_questions import (
    SkippedTrace,
    TracedQuestion,
    feedback_label,
    read_passages,
    read_trace,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Assessment, Span, Trace

_PAGE = 100
_SQLITE = "sqlite:///"
_SESSION = "mlflow.trace.session"


def read_mlflow(uri: str, experiment: str, feedback: str) -> Iterator[TracedQuestion | SkippedTrace]:
    """Yield the question of each trace of an experiment, or of all with "". `feedback` names the assessment with it.

    Without a name, the last assessment by a person counts. Raises DataError if the store cannot be read.
    """
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    database = Path(uri.removeprefix(_SQLITE).partition("?")[0])
    if uri.startswith(_SQLITE) and not database.is_file():  # MLflow would create it
        raise DataError(
            f"{mask_text(uri)}: the file {mask_text(str(database))} does not exist, expected MLflow's database"
        )
    try:
        client = MlflowClient(tracking_uri=uri)
        ids = _experiment_ids(client, experiment)
        token: str | None = None
        while True:
            page = client.search_traces(locations=ids, max_results=_PAGE, page_token=token)
            yield from (_question(trace, feedback) for trace in page)
            token = page.token
            if not token:
                return
    except (MlflowException, OSError) as error:
        raise DataError(
            f"{mask_text(uri)}: MLflow cannot read its traces ({mask_text(' '.join(str(error).split()))})"
        ) from error


def _experiment_ids(client: "MlflowClient", name: str) -> list[str]:
    if not name:
        return [experiment.experiment_id for experiment in client.search_experiments()]
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        known = sorted(each.name for each in client.search_experiments())
        expected = expected_one_of(name, known) if known else ", but MLflow has no experiment"
        raise DataError(f"--experiment: got {name!r}{expected}")
    return [experiment.experiment_id]


def _question(trace: "Trace", feedback: str) -> TracedQuestion | SkippedTrace:
    info, spans = trace.info, trace.data.spans
    if str(getattr(info.state, "value", info.state)) == "ERROR":
        return SkippedTrace("failed")
    root = next((span for span in spans if span.parent_id is None), None)
    if root is None:
        return SkippedTrace("no spans")
    return read_trace(
        info.trace_id,
        _plain(root.inputs),
        _plain(root.outputs),
        _passages(spans),
        str(info.trace_metadata.get(_SESSION, "")),
        float(info.request_time or 0),
        _feedback(info.assessments, feedback),
    )


def _plain(value: object) -> Json:
    """Return a value as JSON. MLflow decodes inputs and outputs from it."""
    with suppress(TypeError, ValueError):
        plain: Json = json.loads(json.dumps(value, default=str))
        return plain
    return None


def _passages(spans: "Sequence[Span]") -> list[str]:
    """Return the documents of the last reranker, or of all retrievers."""
    by_end = sorted(spans, key=lambda span: span.end_time_ns or 0)
    for span in reversed(by_end):
        if span.span_type == "RERANKER" and (passages := read_passages(_plain(span.outputs))):
            return passages
    return [text for span in by_end if span.span_type == "RETRIEVER" for text in read_passages(_plain(span.outputs))]


def _feedback(assessments: "Sequence[Assessment]", name: str) -> str:
    eligible = [
        each
        for each in assessments or ()
        if getattr(each, "feedback", None) is not None
        and (each.name == name if name else each.source is not None and each.source.source_type == "HUMAN")
    ]
    if not eligible:
        return ""
    last = max(eligible, key=lambda each: each.last_update_time_ms or 0)
    return feedback_label(_plain(last.feedback.value if last.feedback else None))
