"""Requests to language models, and their replies."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.records.passages import Passage
from components.records.samples import Sample


@dataclass(frozen=True)
class AskedText:
    """The `text` that a language model wrote about one item, or "" if it gave no answer.

    `unread` then says why the reply could not be parsed, or `failed` why the request failed.
    """

    text: str
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Message:
    """One message to a chat model; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """One call to a language model. Real models read only `messages` and `json_schema`.

    `sample` and `passages` are for backends without a language model, such as `llm=extractive`, which get no
    messages. `draw` distinguishes several independent answers to the same messages. `json_schema` is the JSON schema
    that the reply should follow, None for free text. A backend enforces it if it can, so readers of the reply must not
    rely on it.
    """

    id: str
    messages: tuple[Message, ...]
    sample: Sample
    passages: tuple[Passage, ...]
    json_schema: Mapping[str, object] | None = None
    draw: int = 0


class AnswerState(StrEnum):
    """The outcome of a request. Every request has exactly one.

    - TRUNCATED: the text ended at the maximum number of tokens. It is scored like any answer, even if it is empty
      because a reasoning model spent all tokens on its thoughts.
    - EMPTY: the reply contained only whitespace.
    - NOT_ASKED: the cell has no generator (`llm=none`).
    """

    OK = "ok"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    REFUSED = "refused"
    ERROR = "error"
    NOT_ASKED = "not_asked"


class ErrorClass(StrEnum):
    """The kind of failure that ended a request. Failures of one class have the same remedy.

    - ACCESS: the server rejects the key, or permission is missing.
    - QUOTA: there is no credit left.
    - UNKNOWN_MODEL: the server does not know the model or the address.
    - TOO_LONG: prompt and answer do not fit into the model's window, or alone exceed the account's limit of tokens.
    - BAD_REQUEST: the server rejects something else about this request.
    - SERVER: the server itself failed.
    - MALFORMED: the server sent something that is not a reply.
    """

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    ACCESS = "access"
    UNKNOWN_MODEL = "unknown_model"
    TOO_LONG = "too_long"
    BAD_REQUEST = "bad_request"
    SERVER = "server"
    MALFORMED = "malformed"
    OTHER = "other"


@dataclass(frozen=True)
class Answer:
    """The outcome of one request. `text` is empty unless the state is OK or TRUNCATED.

    `error` is the message of an error, and `error_class` its kind. `thoughts` is the text that a reasoning model wrote
    before its answer, if the model shows it.

    Token counts are None if the provider did not report them. `n_reasoning_tokens` are the completion tokens spent on
    thoughts. `n_cached_tokens` are the prompt tokens that the provider read from its cache, at a separate price.
    `latency_s` are the seconds from the request to its answer. A model that answers batches in this process divides the
    time of a batch by its answers.
    """

    request_id: str
    state: AnswerState
    text: str = ""
    error: str = ""
    error_class: ErrorClass | None = None
    thoughts: str = ""
    n_prompt_tokens: int | None = 0
    n_completion_tokens: int | None = 0
    n_reasoning_tokens: int | None = 0
    n_cached_tokens: int = 0
    latency_s: float = 0.0

    @classmethod
    def from_failure(cls, request: Request, error: str, error_class: ErrorClass) -> "Answer":
        """Return the outcome of a request that failed permanently."""
        return cls(request.id, AnswerState.ERROR, error=error, error_class=error_class)


@dataclass(frozen=True)
class AnswerTask:
    """A sample to answer, with the passages for its prompt. They are empty in a closed book, or if retrieval found
    nothing.
    """

    sample: Sample
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class GeneratedAnswer:
    """The result of a generator for one task.

    `answer` counts the tokens of all requests. Its latency adds up consecutive requests; of parallel ones, the slowest
    counts. `prompt` are the messages of the last request. `path` describes in a few words how the answer came about.
    """

    answer: Answer
    prompt: tuple[Message, ...]
    path: str
