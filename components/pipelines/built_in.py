"""The pipeline that the other components of a cell make up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from components.fields import runtime_only
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Request

_NOT_READ = "the built-in pipeline does not read it"


@dataclass(frozen=True)
class BuiltIn:
    """The default: the retriever, the prompt, the language model and the other components of the cell answer.

    It is never called. All its requests end as NOT_ASKED. Its fields are not read. They are the fields of the
    other pipelines, so that one sweep can set them and also have built-in cells.
    """

    call: str = runtime_only("", _NOT_READ)
    url: str = runtime_only("", _NOT_READ)
    revision: str | int | float = runtime_only("", _NOT_READ)
    parameters: Mapping[str, bool | int | float | str] = field(default_factory=dict, hash=False)
    api_key_env: str = runtime_only("", _NOT_READ)
    timeout_s: float = runtime_only(0.0, _NOT_READ)
    max_retries: int = runtime_only(0, _NOT_READ)
    backoff_s: float = runtime_only(0.0, _NOT_READ)
    concurrency: int = runtime_only(0, _NOT_READ)
    max_requests_per_minute: int | None = runtime_only(None, _NOT_READ)
    max_tokens_per_minute: int | None = runtime_only(None, _NOT_READ)

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.NOTHING
    is_built_in: ClassVar[bool] = True

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Return one answer without text per request, in order."""
        return (Answer(request.id, AnswerState.NOT_ASKED) for request in requests)
