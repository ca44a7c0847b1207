"""What rerankers ask a language model."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.records import Kind, Message, Passage, Request, Sample


def request_about(
    hits: Sequence[str], question: str, messages: tuple[Message, ...], json_schema: Mapping[str, Any], request_id: str
) -> Request:
    """A request about hits of a question. What belongs to a sample besides its question no reranker knows."""
    sample = Sample(request_id, "", Kind.QA, question, ())
    return Request(request_id, messages, sample, tuple(map(Passage, hits)), json_schema)
