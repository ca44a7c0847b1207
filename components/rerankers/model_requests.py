"""Requests of rerankers to a language model."""

from collections.abc import Mapping, Sequence

from components.records import Kind, Message, Passage, Request, Sample


def request_about(
    hits: Sequence[str],
    question: str,
    messages: tuple[Message, ...],
    json_schema: Mapping[str, object],
    request_id: str,
) -> Request:
    """Return a request about hits of a question. Its sample has only the question, which is all a reranker knows."""
    sample = Sample(request_id, "", Kind.QA, question, ())
    return Request(request_id, messages, sample, tuple(map(Passage, hits)), json_schema)
