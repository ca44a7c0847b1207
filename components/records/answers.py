"""What is asked of language models, and what they reply."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from components.records.passages import Passage
from components.records.samples import Sample


@dataclass(frozen=True)
class AskedText:
    """What a language model wrote about one thing: `text`, "" where there is none; then `unread` says of the reply why
    it could not be read, or `failed` why the request failed.
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
    """One call to a language model. Real models read `messages` and `json_schema` alone; `sample` and `passages` are
    there for the backends that are no language models, such as the extractive baseline, which get no messages.

    `draw` tells several draws of one answer apart, for whoever wants more than one. `json_schema` is the JSON schema
    that the reply should follow, None for free text. A backend that can enforce it does; the reader of the reply must
    not rely on it.
    """

    id: str
    messages: tuple[Message, ...]
    sample: Sample
    passages: tuple[Passage, ...]
    json_schema: Mapping[str, Any] | None = None
    draw: int = 0


class AnswerState(StrEnum):
    """How a request ended. Exactly one of these; none is dropped.

    TRUNCATED: it was cut off at the most tokens that the model may write. What came until then is an answer all the
    same, and is scored as one, even if it is nothing (a reasoning model may have spent all tokens on its thoughts).
    EMPTY: nothing but white space came. NOT_ASKED: the cell has no generator (`llm=none`).
    """

    OK = "ok"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    REFUSED = "refused"
    ERROR = "error"
    NOT_ASKED = "not_asked"


class ErrorClass(StrEnum):
    """What kind of failure ended a request, so that failures can be counted by what to do about them.

    ACCESS: a refused key, or no permission; QUOTA: no money left; UNKNOWN_MODEL: the server knows no such model or
    address; TOO_LONG: the prompt and the answer do not fit into the model's window; BAD_REQUEST: the server dislikes
    something else about this request; SERVER: it failed itself; MALFORMED: it sent something that is no reply.
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
    """The end of one request. `text` is empty unless the state is OK or TRUNCATED; an error's message is in `error`,
    never in `text`, and what kind of error it is in `error_class`. `thoughts` are what a reasoning model wrote before
    its answer, where it shows them.

    Tokens are None where the provider did not count them; `n_reasoning_tokens` are those of the completion that were
    spent on thoughts, `n_cached_tokens` those of the prompt that the provider says it had at hand, at a price of their
    own. `latency_s` are the seconds from the request to its answer; a model that answers
    in batches in this process gives each answer its share of the batch.
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


@dataclass(frozen=True)
class AnswerTask:
    """What a generator is to answer, and from what; there are no passages in a closed book, or where none was found."""

    sample: Sample
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class GeneratedAnswer:
    """What a generator made of a task. `answer` has the tokens of all requests, and as its time what they took one
    after the other; `prompt` are the messages of the last of them; `path` says in a few words how it came about.
    """

    answer: Answer
    prompt: tuple[Message, ...]
    path: str
