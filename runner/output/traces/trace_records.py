"""What a trace tells of a sample in a cell."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.json_value import Json


@dataclass(frozen=True)
class SpanRecord:
    """A step on the way to an answer; `kind` is one of MLflow's types of spans. `outputs` of a retriever or a reranker
    are passages as MLflow shows them: `{page_content, metadata, id}`.
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
    """A score of a sample, or why it has none (`error`). `judge` names the language model's judge that gave it, with
    what it said as the `rationale`; "" for a computed one.
    """

    name: str
    value: Json
    error: str = ""
    judge: str = ""
    rationale: str = ""


@dataclass(frozen=True)
class SampleTrace:
    """A sample in a cell: `inputs` are equal in all cells, as runs are compared by them; `spans` in the order in which
    they took place, within one that stands for all of them; `tags` are for filters. `name` is the id as it is shown.
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
