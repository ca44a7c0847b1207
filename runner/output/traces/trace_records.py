"""Records of a trace: the spans, scores and expectations of a sample in a cell."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.json_value import Json


@dataclass(frozen=True)
class SpanRecord:
    """A step on the way to an answer. `kind` is one of MLflow's types of spans.

    The `outputs` of a retriever or a reranker are passages in MLflow's form: `{page_content, metadata, id}`.
    """

    name: str
    kind: str
    inputs: Json
    outputs: Json
    seconds: float = 0.0
    attributes: Mapping[str, Json] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class Feedback:
    """A score of a sample, or the reason why it has none (`error`).

    `judge` names the judge that gave the score, and `rationale` is the judge's reply. Both are "" for computed scores.
    """

    name: str
    value: Json
    error: str = ""
    judge: str = ""
    rationale: str = ""


@dataclass(frozen=True)
class SampleTrace:
    """Trace of a sample in a cell. `name` is the printable id.

    `inputs` are equal in all cells, because MLflow compares runs by them. `spans` are in the order in which the steps
    took place. `tags` are for filters.
    """

    sample_id: str
    name: str
    inputs: Mapping[str, Json]
    answer: str
    error: str
    spans: tuple[SpanRecord, ...]
    expectations: Mapping[str, Json]
    feedback: tuple[Feedback, ...]
    tags: Mapping[str, str]
