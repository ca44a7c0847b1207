"""Traces of samples in MLflow, linked to the run of their cell.

MLflow has no documented way to write whole traces with their scores. Logging them one by one as if they took place now
takes thirty times as long; what its own client calls at the end of that is called here directly.
"""

import gc
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from typing import Any

from components.json_value import Json
from runner.output.artifacts import Client
from runner.output.traces.trace_records import SampleTrace, SpanRecord

_TOGETHER = 50
"""Traces whose spans are written at once."""

_LINKED_TOGETHER = 100
"""As many as MLflow takes."""

_PAGE = 500
_WHOLE = "mlflow.trace.spansLocation"
"""A tag that MLflow sets when a trace has its spans."""

_SOURCE = "rag-grid"
_LONGEST_PREVIEW = 1000
_LONGEST_TAG = 250
"""Characters that fit into MLflow's columns."""


class TraceLog:
    """Writes the traces of runs in one experiment. All methods raise whatever MLflow raises."""

    def __init__(self, client: Client, experiment_id: str) -> None:
        """`client` is an `MlflowClient`."""
        self._client = client
        self._experiment_id = experiment_id
        self._tracing = client._tracing_client

    def there(self, run_id: str) -> set[str]:
        """Ids of the whole traces of a run. What a broken connection left of others is removed."""
        found = list(self._of_run(run_id))
        broken = [info.trace_id for info in found if _WHOLE not in info.tags]
        self._delete(broken)
        return {info.trace_id for info in found} - {*broken}

    def remove(self, run_id: str) -> None:
        """All traces of a run."""
        self._delete([info.trace_id for info in self._of_run(run_id)])

    def write(self, run_id: str, traces: Iterable[SampleTrace]) -> None:
        """Traces that are not there yet."""
        waiting = iter(traces)
        written: list[str] = []
        while some := list(islice(waiting, _TOGETHER)):
            now_ns = time.time_ns()
            spans = [span for trace in some for span in _spans(trace, run_id, now_ns)]
            with _no_garbage_collected():
                for trace in some:
                    self._tracing.start_trace(_info(trace, run_id, self._experiment_id, now_ns))
                self._tracing.log_spans(self._experiment_id, spans)
            written += [trace_id(run_id, trace.sample_id) for trace in some]
        for first in range(0, len(written), _LINKED_TOGETHER):
            self._client.link_traces_to_run(written[first : first + _LINKED_TOGETHER], run_id)

    def _of_run(self, run_id: str) -> Iterator[Any]:
        token = None
        while True:
            page = self._tracing.search_traces(
                locations=[self._experiment_id],
                filter_string=f"metadata.`mlflow.sourceRun` = '{run_id}'",
                max_results=_PAGE,
                page_token=token,
                include_spans=False,
            )
            yield from (trace.info for trace in page)
            token = page.token
            if not token:
                return

    def _delete(self, ids: Sequence[str]) -> None:
        for first in range(0, len(ids), _LINKED_TOGETHER):
            self._client.delete_traces(self._experiment_id, trace_ids=ids[first : first + _LINKED_TOGETHER])


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """A third of the time would go into looking through the objects that SQLAlchemy makes of every score."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def trace_id(run_id: str, sample_id: str) -> str:
    """Always the same for a sample of a run, so that none is logged twice."""
    return f"tr-{sha256(f'{run_id} {sample_id}'.encode(errors='surrogatepass')).hexdigest()[:32]}"


def _info(trace: SampleTrace, run_id: str, experiment_id: str, now_ns: int) -> Any:
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    return TraceInfo(
        trace_id=trace_id(run_id, trace.sample_id),
        trace_location=TraceLocation.from_experiment_id(experiment_id),
        request_time=now_ns // 1_000_000,
        state=TraceState.ERROR if trace.error else TraceState.OK,
        request_preview=_preview(trace.inputs),
        response_preview=trace.answer[:_LONGEST_PREVIEW],
        execution_duration=round(1000 * sum(span.seconds for span in trace.spans)),
        trace_metadata={"mlflow.sourceRun": run_id},
        tags={name: value[:_LONGEST_TAG] for name, value in {"mlflow.traceName": trace.name, **trace.tags}.items()},
        assessments=[*_expectations(trace), *_feedback(trace, run_id)],
    )


def _preview(inputs: Mapping[str, Json]) -> str:
    """By which MLflow joins samples of two runs: of long inputs the beginning of the question, and the id."""
    whole = json.dumps(inputs, ensure_ascii=False)
    if len(whole) <= _LONGEST_PREVIEW:
        return whole
    return json.dumps({"question": f"{inputs['question'][:300]} ...", "id": inputs["id"][:150]}, ensure_ascii=False)


def _expectations(trace: SampleTrace) -> Iterator[Any]:
    from mlflow.entities import AssessmentSource, Expectation

    source = AssessmentSource("CODE", _SOURCE)
    for name, value in trace.expectations.items():
        yield Expectation(name=name, value=value, source=source)


def _feedback(trace: SampleTrace, run_id: str) -> Iterator[Any]:
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


def _spans(trace: SampleTrace, run_id: str, now_ns: int) -> Iterator[Any]:
    """One that stands for all, and the steps in it, one after another."""
    own_id = trace_id(run_id, trace.sample_id)
    whole = SpanRecord(
        "sample", "CHAIN", trace.inputs, trace.answer, sum(span.seconds for span in trace.spans), error=trace.error
    )
    yield _span(own_id, whole, 0, now_ns)
    start_ns = now_ns
    for number, span in enumerate(trace.spans, 1):
        yield _span(own_id, span, number, start_ns)
        start_ns += round(1e9 * span.seconds)


def _span(own_id: str, span: SpanRecord, number: int, start_ns: int) -> Any:
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
