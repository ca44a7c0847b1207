"""python -m tests.runner.testset.production.mlflow_writer URI: writes traces by MLflow's own tracing API."""

import sys
from typing import Any

import mlflow
from mlflow.entities import AssessmentSource, Document, SpanType


def write(uri: str) -> None:
    """Write two traces of a conversation and a failed one, by MLflow's own tracing API."""
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("production")

    @mlflow.trace(span_type=SpanType.RETRIEVER)  # type: ignore[untyped-decorator]
    def search(question: str) -> list[Document]:
        return [Document(page_content=f"about {question}", metadata={"doc_uri": "a.md"}), Document(page_content="more")]

    ids: list[str] = []

    @mlflow.trace(span_type=SpanType.CHAIN)  # type: ignore[untyped-decorator]
    def answer(question: str) -> dict[str, Any]:
        current = mlflow.get_current_active_span()
        assert current
        ids.append(current.trace_id)
        mlflow.update_current_trace(metadata={"mlflow.trace.session": "s1"})
        found = search(question)
        if "fail" in question:
            raise RuntimeError("no model")
        return {"answer": found[0].page_content.upper()}

    for number, question in enumerate(["Where is it?", "And who built it?", "fail now"]):
        try:
            answer(question=question)
        except RuntimeError:
            continue
        mlflow.flush_trace_async_logging()
        mlflow.log_feedback(trace_id=ids[-1], name="judge", value=False, source=AssessmentSource("LLM_JUDGE", "m"))
        person = AssessmentSource("HUMAN", "u")
        mlflow.log_feedback(trace_id=ids[-1], name="thumb", value=number == 0, source=person)
    mlflow.flush_trace_async_logging()


if __name__ == "__main__":
    write(sys.argv[1])
