"""Spans of answered questions for OpenTelemetry, with the names of OpenInference.

They are sent if OTEL_EXPORTER_OTLP_ENDPOINT (or ..._TRACES_ENDPOINT) is set: by the tracer provider of the application
if it has one, or else by one of our own, over HTTP. A question is a CHAIN with a RETRIEVER and an LLM inside.
See https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from components.records import Sample
from runner.serving.retrieved_passages import Passage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
SERVICE = "rag-grid"
_PACKAGES = {
    "opentelemetry-sdk": "opentelemetry.sdk",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http",
}
"""Modules by their packages, which the extra `otel` contains."""

Value = str | int | float | bool
Attributes = Mapping[str, Value | None]

log = logging.getLogger(__name__)


class AnswerSpan:
    """An open span. Without a tracer it does nothing."""

    def __init__(self, span: "Span | None" = None) -> None:
        self._span = span

    def set(self, attributes: Attributes) -> None:
        """Set attributes. Those that are None are left out."""
        if self._span is not None:
            self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def set_passages(self, passages: Sequence[Passage]) -> None:
        """Set the documents that a search found."""
        for number, passage in enumerate(passages):
            metadata = {"title": passage.title, "start": passage.start, "end": passage.end, **passage.metadata}
            document = {"id": passage.document_id, "content": passage.text, "score": passage.score}
            self.set({f"retrieval.documents.{number}.document.{name}": value for name, value in document.items()})
            self.set({f"retrieval.documents.{number}.document.metadata": json.dumps(metadata, ensure_ascii=False)})


class AnswerTracer:
    """Writes the spans of a pipeline. Each has `facts`, such as the id of the cell."""

    def __init__(self, facts: Attributes, tracer: "Tracer | None" = None) -> None:
        self._facts, self._tracer = facts, tracer

    @contextmanager
    def span(self, name: str, kind: str, attributes: Attributes) -> Iterator[AnswerSpan]:
        """Yield a span that is open inside the block. An exception marks it as failed, and is raised."""
        if self._tracer is None:
            yield AnswerSpan()
            return
        with self._tracer.start_as_current_span(name) as opened:
            span = AnswerSpan(opened)
            span.set({"openinference.span.kind": kind, **self._facts, **attributes})
            yield span

    def question(self, sample: Sample) -> AbstractContextManager[AnswerSpan]:
        """Return the span of a whole question, with its earlier turns."""
        turns = [{"question": turn.question, "answer": turn.answer} for turn in sample.history]
        attributes: dict[str, Value | None] = {"input.value": sample.question, "input.mime_type": "text/plain"}
        if turns:
            value = json.dumps({"question": sample.question, "history": turns}, ensure_ascii=False)
            attributes = {"input.value": value, "input.mime_type": "application/json"}
        return self.span("answer", "CHAIN", attributes)


def build_tracer(sweep_id: str, cell_id: str) -> AnswerTracer:
    """Return the tracer of the pipeline of a cell. It does nothing if no endpoint is set, or packages are missing."""
    facts = {"rag_grid.sweep_id": sweep_id, "rag_grid.cell_id": cell_id}
    if not any(os.environ.get(name, "").strip() for name in VARIABLES):
        return AnswerTracer(facts)
    missing = [package for package, module in _PACKAGES.items() if not _is_installed(module)]
    if missing:
        log.warning(
            "%s is not installed, so no spans are sent. Install it with: python -m pip install %s",
            ", ".join(missing),
            " ".join(_PACKAGES),
        )
        return AnswerTracer(facts)
    return AnswerTracer(facts, _provider().get_tracer(SERVICE))


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # a package above the module is missing
        return False


def _provider() -> "TracerProvider":
    """Return the application's tracer provider, or our own if it has set none."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import get_tracer_provider

    provider = get_tracer_provider()
    return provider if isinstance(provider, TracerProvider) else _own_provider()


@cache
def _own_provider() -> "TracerProvider":
    """Return a provider that sends spans in the background, and the rest when the process ends."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": SERVICE}
    provider = TracerProvider(resource=Resource.create(name))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
