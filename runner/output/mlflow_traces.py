"""Writes traces of samples to MLflow, linked to the run of their cell.

MLflow has no documented way to write whole traces with their scores. Replaying them one by one through its tracing API
takes thirty times as long. This module directly calls the methods that MLflow's client calls at the end of that.
"""

import gc
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

from components.json_value import Json
from runner.output.artifacts import Client
from runner.output.traces.trace_records import SampleTrace, SpanRecord

if TYPE_CHECKING:
    from mlflow.entities import Expectation, Feedback, Span, TraceInfo

_TOGETHER = 50
"""Traces whose spans are written together."""

_MAX_IDS = 100
"""Ids of traces that MLflow accepts in one call."""

_PAGE_SIZE = 500
_WHOLE = "mlflow.trace.spansLocation"
"""Tag that MLflow sets when a trace has its spans."""

_SOURCE = "rag-grid"
_MAX_PREVIEW_CHARACTERS = 1000
_MAX_TAG_CHARACTERS = 250
"""Limits of MLflow's columns, in characters."""


class TraceLog:
    """Writes the traces of runs in one experiment. All methods raise whatever MLflow raises."""

    def __init__(self, client: Client, experiment_id: str) -> None:
        """Use an `MlflowClient` and, for what it does not offer, the tracing client in it."""
        self._client = client
        self._experiment_id = experiment_id
        self._tracing = client._tracing_client

    def list_existing(self, run_id: str) -> set[str]:
        """Return the ids of the complete traces of a run. Incomplete ones, from a broken connection, are deleted."""
        infos = list(self._trace_infos(run_id))
        broken = [info.trace_id for info in infos if _WHOLE not in info.tags]
        self._delete(broken)
        return {info.trace_id for info in infos} - {*broken}

    def remove(self, run_id: str) -> None:
        """Delete all traces of a run."""
        self._delete([info.trace_id for info in self._trace_infos(run_id)])

    def write(self, run_id: str, traces: Iterable[SampleTrace]) -> None:
        """Write traces that do not exist yet, and link them to the run."""
        waiting = iter(traces)
        written: list[str] = []
        while batch := list(islice(waiting, _TOGETHER)):
            now_ns = time.time_ns()
            spans = [span for trace in batch for span in _spans(trace, run_id, now_ns)]
            with _garbage_collection_off():
                for trace in batch:
                    self._tracing.start_trace(_info(trace, run_id, self._experiment_id, now_ns))
                self._tracing.log_spans(self._experiment_id, spans)
            written += [trace_id(run_id, trace.sample_id) for trace in batch]
        for first in range(0, len(written), _MAX_IDS):
            self._client.link_traces_to_run(written[first : first + _MAX_IDS], run_id)

    def _trace_infos(self, run_id: str) -> "Iterator[TraceInfo]":
        token = None
        while True:
            page = self._tracing.search_traces(
                locations=[self._experiment_id],
                filter_string=f"metadata.`mlflow.sourceRun` = '{run_id}'",
                max_results=_PAGE_SIZE,
                page_token=token,
                include_spans=False,
            )
            yield from (trace.info for trace in page)
            token = page.token
            if not token:
                return

    def _delete(self, ids: Sequence[str]) -> None:
        for first in range(0, len(ids), _MAX_IDS):
            self._client.delete_traces(self._experiment_id, trace_ids=ids[first : first + _MAX_IDS])


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Turn garbage collection off: scanning SQLAlchemy's many objects would take a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def trace_id(run_id: str, sample_id: str) -> str:
    """Return the id of a sample's trace. It depends only on run and sample, so that no trace is logged twice."""
    return f"tr-{sha256(f'{run_id} {sample_id}'.encode(errors='surrogatepass')).hexdigest()[:32]}"


def _info(trace: SampleTrace, run_id: str, experiment_id: str, now_ns: int) -> "TraceInfo":
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    return TraceInfo(
        trace_id=trace_id(run_id, trace.sample_id),
        trace_location=TraceLocation.from_experiment_id(experiment_id),
        request_time=now_ns // 1_000_000,
        state=TraceState.ERROR if trace.error else TraceState.OK,
        request_preview=_preview(trace.inputs),
        response_preview=trace.answer[:_MAX_PREVIEW_CHARACTERS],
        execution_duration=round(1000 * sum(span.seconds for span in trace.spans)),
        trace_metadata={"mlflow.sourceRun": run_id},
        tags={
            name: value[:_MAX_TAG_CHARACTERS] for name, value in {"mlflow.traceName": trace.name, **trace.tags}.items()
        },
        assessments=[*_expectations(trace), *_feedback(trace, run_id)],
    )


def _preview(inputs: Mapping[str, Json]) -> str:
    """Return the text by which MLflow joins samples of two runs. Long inputs are cut to a part of question and id."""
    whole = json.dumps(inputs, ensure_ascii=False)
    if len(whole) <= _MAX_PREVIEW_CHARACTERS:
        return whole
    return json.dumps({"question": f"{inputs['question'][:300]} ...", "id": inputs["id"][:150]}, ensure_ascii=False)


def _expectations(trace: SampleTrace) -> "Iterator[Expectation]":
    from mlflow.entities import AssessmentSource, Expectation

    source = AssessmentSource("CODE", _SOURCE)
    for name, value in trace.expectations.items():
        yield Expectation(name=name, value=value, source=source)


def _feedback(trace: SampleTrace, run_id: str) -> "Iterator[Feedback]":
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback

    for each in trace.feedback:
        yield Feedback(
            name=each.name,
            value=each.value,
            error=AssessmentError(each.error, each.rationale or None) if each.error else None,
            source=AssessmentSource("LLM_JUDGE", each.judge) if each.judge else AssessmentSource("CODE", _SOURCE),
            rationale=each.rationale or None,
            metadata={"mlflow.assessment.sourceRunId": run_id},
        )


def _spans(trace: SampleTrace, run_id: str, now_ns: int) -> "Iterator[Span]":
    """Yield a span for the whole trace, and in it the steps, one after another."""
    own_id = trace_id(run_id, trace.sample_id)
    whole = SpanRecord(
        "sample", "CHAIN", trace.inputs, trace.answer, sum(span.seconds for span in trace.spans), error=trace.error
    )
    yield _span(own_id, whole, 0, now_ns)
    start_ns = now_ns
    for number, span in enumerate(trace.spans, 1):
        yield _span(own_id, span, number, start_ns)
        start_ns += round(1e9 * span.seconds)


def _span(own_id: str, span: SpanRecord, number: int, start_ns: int) -> "Span":
    from mlflow.entities import Span

    values: dict[str, Json] = {
        "mlflow.traceRequestId": own_id,
        "mlflow.spanType": span.kind,
        "mlflow.spanInputs": span.inputs,
        "mlflow.spanOutputs": span.outputs,
        **span.attributes,
    }
    return Span.from_dict(
        {
            "trace_id": own_id,
            "span_id": _span_id(number),
            "parent_span_id": _span_id(0) if number else None,
            "name": span.name,
            "start_time_unix_nano": start_ns,
            "end_time_unix_nano": start_ns + round(1e9 * span.seconds),
            "status": {"code": "STATUS_CODE_ERROR" if span.error else "STATUS_CODE_OK", "message": span.error},
            "attributes": {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()},
            "events": [],
        }
    )


def _span_id(number: int) -> str:
    return f"{number + 1:016x}"
