"""Spans of answers: of an exported pipeline, sent to a stand-in for an OTLP receiver, and imported as questions."""

import gzip
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from components.errors import DataError
from components.records import Kind, Sample, Turn
from runner.serving import answer_spans
from runner.serving.answer_spans import VARIABLES, build_tracer
from runner.serving.retrieved_passages import Passage
from runner.testset.production.otlp_traces import read_otlp
from runner.testset.production.traced_questions import TracedQuestion
from tests.extras import skip_without
from tests.runner.serving.exporting.exporting import exported
from tests.runner.sweeping import cells_in, run_small

skip_without("opentelemetry.exporter", extra="otel")


@contextmanager
def receiver() -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that takes all requests; yield its address and the bodies of those to /v1/traces."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def as_json(body: bytes) -> dict[str, Any]:
    """Return a request as OTLP JSON, whose ids are hexadecimal."""
    from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest.FromString(body)
    value: dict[str, Any] = MessageToDict(request)
    return value


@pytest.fixture(autouse=True)
def fresh_provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the provider between tests, and stop its thread."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    answer_spans._own_provider.cache_clear()
    yield
    if answer_spans._own_provider.cache_info().currsize:
        answer_spans._own_provider().shutdown()
    answer_spans._own_provider.cache_clear()


def spans_of(bodies: list[bytes]) -> dict[str, dict[str, Any]]:
    """Return the attributes of all spans by their names."""
    found = {}
    for body in bodies:
        for resource in as_json(body)["resourceSpans"]:
            for span in resource["scopeSpans"][0]["spans"]:
                values = {own["key"]: next(iter(own["value"].values())) for own in span["attributes"]}
                found[span["name"]] = {**values, "parent": span.get("parentSpanId", ""), "span": span["spanId"]}
    return found


def test_exported_pipeline_sends_spans_with_the_id_of_its_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_small(tmp_path, ["dataset=demo_en", "llm=extractive", "top_k=2"]) == 0
    (cell,) = cells_in(tmp_path)
    with receiver() as (address, bodies):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        pipeline = exported(tmp_path, cell.cell_id, tmp_path / "out")
        answer = pipeline.answer("And why?", history=[("Who visits schools?", "Nurses.")])
        answer_spans._own_provider().force_flush()
    spans = spans_of(bodies)
    assert set(spans) == {"answer", "search", "generate"}
    assert {own["rag_grid.cell_id"] for own in spans.values()} == {cell.cell_id}
    root, search, model = spans["answer"], spans["search"], spans["generate"]
    assert (root["openinference.span.kind"], root["output.value"]) == ("CHAIN", answer.text)
    assert json.loads(root["input.value"])["question"] == "And why?"
    assert root["parent"] == ""
    assert search["parent"] == model["parent"] == root["span"]
    assert search["openinference.span.kind"] == "RETRIEVER"
    texts = [search[f"retrieval.documents.{n}.document.content"] for n in range(len(answer.passages))]
    assert texts == [passage.text for passage in answer.passages]
    assert len(texts) == 2
    assert model["openinference.span.kind"] == "LLM"
    (tmp_path / "traces.jsonl").write_text("".join(json.dumps(as_json(body)) + "\n" for body in bodies))
    (imported,) = read_otlp(tmp_path / "traces.jsonl", "")
    assert isinstance(imported, TracedQuestion)
    assert (imported.question, imported.history) == ("And why?", (Turn("Who visits schools?", "Nurses."),))
    assert imported.passages == tuple(dict.fromkeys(texts))
    assert imported.answer == answer.text


SAMPLE = Sample("s", "", Kind.QA, "Who?", ())


def test_spans_without_an_endpoint_are_not_sent() -> None:
    tracer = build_tracer("sweep", "cell")
    with tracer.question(SAMPLE) as span:
        span.set({"output.value": "x"})
        span.set_passages([Passage("d", "t", "text", 0, 4, 1.0)])
    assert answer_spans._own_provider.cache_info().currsize == 0


def test_application_tracer_provider_receives_the_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: provider)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/v1/traces")
    tracer = build_tracer("sweep", "cell")
    with pytest.raises(DataError), tracer.question(SAMPLE), tracer.span("generate", "LLM", {"llm.model_name": None}):
        raise DataError("no answer")
    model, root = exporter.get_finished_spans()
    assert root.name == "answer"
    assert root.attributes is not None
    assert root.attributes["rag_grid.sweep_id"] == "sweep"
    assert root.attributes["input.value"] == "Who?"
    assert not model.status.is_ok
    assert "llm.model_name" not in (model.attributes or {})
    assert answer_spans._own_provider.cache_info().currsize == 0
    provider.shutdown()


def test_missing_opentelemetry_is_a_warning(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(answer_spans, "find_spec", lambda _: None)
    with caplog.at_level(logging.WARNING), build_tracer("sweep", "cell").question(SAMPLE):
        pass
    assert "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http" in caplog.text
