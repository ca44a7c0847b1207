"""Traces in OTLP's JSON encoding, whose spans have the attributes of OpenInference.

See https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/ and
https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from components.errors import DataError
from components.json_value import Json
from runner.testset.production.trace_files import read_values
from runner.testset.production.traced_questions import SkippedTrace, TracedQuestion, feedback_label, read_trace

_EXPECTED = 'traces as OTLP JSON, {"resourceSpans": [...]}'
_FAILED = (2, "STATUS_CODE_ERROR")
_NUMBERED = re.compile(r"\.(\d+)\.")
_MAX_DEPTH = 20


@dataclass(frozen=True)
class OtlpSpan:
    """A span with its attributes by name."""

    id: str
    parent: str
    start: float
    end: float
    has_failed: bool
    attributes: Mapping[str, Json] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of OpenInference, in capitals."""
        return str(self.attributes.get("openinference.span.kind", "")).upper()


def read_otlp(file: Path, feedback: str) -> Iterator[TracedQuestion | SkippedTrace]:
    """Yield the question of each trace in a file. `feedback` is the attribute with the feedback, of any span.

    Raises DataError for a file that is not OTLP JSON.
    """
    traces: dict[str, list[OtlpSpan]] = {}
    for location, value in read_values(file, _EXPECTED):
        if not isinstance(value, dict) or not isinstance(value.get("resourceSpans"), list):
            raise DataError(f"{location}: has no list `resourceSpans`, expected {_EXPECTED}")
        for trace_id, span in _spans(value["resourceSpans"], location):
            traces.setdefault(trace_id, []).append(span)
    for trace_id, spans in traces.items():
        yield _question(trace_id, spans, feedback or "feedback")


def _spans(resources: Sequence[Json], location: str) -> Iterator[tuple[str, OtlpSpan]]:
    for resource in resources:
        for scope in _objects(resource, "scopeSpans"):
            for span in _objects(scope, "spans"):
                trace_id = span.get("traceId")
                if not isinstance(trace_id, str) or not trace_id:
                    raise DataError(f"{location}: a span has no `traceId`, expected {_EXPECTED}")
                status = span.get("status")
                yield (
                    trace_id,
                    OtlpSpan(
                        str(span.get("spanId") or ""),
                        str(span.get("parentSpanId") or ""),
                        _nanoseconds(span.get("startTimeUnixNano")),
                        _nanoseconds(span.get("endTimeUnixNano")),
                        isinstance(status, dict) and status.get("code") in _FAILED,
                        dict(_attributes(span)),
                    ),
                )


def _objects(value: Json, name: str) -> list[dict[str, Json]]:
    children = value.get(name) if isinstance(value, dict) else None
    return [each for each in children if isinstance(each, dict)] if isinstance(children, list) else []


def _nanoseconds(value: Json) -> float:
    try:
        return float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        return 0.0


def _attributes(span: Json) -> Iterator[tuple[str, Json]]:
    for entry in _objects(span, "attributes"):
        if isinstance(entry.get("key"), str):
            yield entry["key"], _value(entry.get("value"))


def _value(value: Json, depth: int = 0) -> Json:
    """Return a value of OTLP as plain JSON. Whole numbers are strings there."""
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return None
    for name, content in value.items():
        if name == "arrayValue":
            return [_value(each, depth + 1) for each in _objects(content, "values")]
        if name == "kvlistValue":
            return {str(each.get("key")): _value(each.get("value"), depth + 1) for each in _objects(content, "values")}
        if name == "intValue" and isinstance(content, str):
            return int(content) if content.lstrip("-").isdecimal() and len(content) < 20 else content
        if name.endswith("Value"):
            return content
    return None


def _question(trace_id: str, spans: Sequence[OtlpSpan], feedback: str) -> TracedQuestion | SkippedTrace:
    ids = {span.id for span in spans}
    roots = [span for span in spans if span.parent not in ids]
    root = min(roots or spans, key=lambda span: span.start)
    if root.has_failed:
        return SkippedTrace("failed")
    models = sorted((span for span in spans if span.kind == "LLM"), key=lambda span: span.start)
    inputs, outputs = root.attributes.get("input.value"), root.attributes.get("output.value")
    if models and inputs is None:
        inputs = _messages(models[0], "llm.input_messages")
    if models and outputs is None:
        outputs = _messages(models[-1], "llm.output_messages")
    named = [span.attributes[feedback] for span in spans if feedback in span.attributes]
    session = next((str(span.attributes["session.id"]) for span in spans if "session.id" in span.attributes), "")
    label = feedback_label(named[-1]) if named else ""
    return read_trace(trace_id, inputs, outputs, _passages(spans), session, root.start, label)


def _messages(span: OtlpSpan, beginning: str) -> list[Json]:
    numbers = _numbers(span, f"{beginning}.")
    named = ((f"{beginning}.{n}.message.role", f"{beginning}.{n}.message.content") for n in numbers)
    return [{"role": span.attributes.get(role), "content": span.attributes.get(content)} for role, content in named]


def _passages(spans: Sequence[OtlpSpan]) -> list[str]:
    """Return the documents of the last reranker, or of all retrievers."""
    by_end = sorted(spans, key=lambda span: span.end)
    for span in reversed(by_end):
        if span.kind == "RERANKER" and (documents := _documents(span, "reranker.output_documents")):
            return documents
    return [text for span in by_end if span.kind == "RETRIEVER" for text in _documents(span, "retrieval.documents")]


def _documents(span: OtlpSpan, beginning: str) -> list[str]:
    names = (f"{beginning}.{n}.document.content" for n in _numbers(span, f"{beginning}."))
    return [text for name in names if isinstance(text := span.attributes.get(name), str)]


def _numbers(span: OtlpSpan, beginning: str) -> list[int]:
    numbers = {
        int(number[1])
        for name in span.attributes
        if name.startswith(beginning) and (number := _NUMBERED.search(name, len(beginning) - 1)) and len(number[1]) < 6
    }
    return sorted(numbers)
