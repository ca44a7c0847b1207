"""Language models behind OpenAI's chat API, which vLLM, SGLang, llama.cpp and most providers support."""

import json
import logging
from collections import defaultdict
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from components.fields import runtime_only
from components.limits import too_small
from components.llms.endings import is_filtered_prompt
from components.llms.openai_replies import read_replies
from components.llms.sampling import sampling_problems
from components.openai_server.access import extract_host
from components.openai_server.limiter import Account
from components.openai_server.server import FailedCall, Server, build_server
from components.openai_server.server_errors import HttpError
from components.openai_server.session import Session
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Request

log = logging.getLogger(__name__)

_FIXED = {
    "model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "n",
    "response_format", "stream",
}  # fmt: skip
"""Parameters that fields of the class set, or that would change the form of the reply."""


_Draws = tuple[Request, ...]
"""Requests that a server cannot tell apart."""


class LengthParameter(StrEnum):
    """Name of a server's parameter for the maximum number of tokens.

    AUTO is max_completion_tokens for OpenAI, whose reasoning models accept no other, and max_tokens for other servers.
    """

    AUTO = "auto"
    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


class JsonMode(StrEnum):
    """The way in which a request asks a server to enforce a JSON schema."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    GUIDED_JSON = "guided_json"
    NONE = "none"


@dataclass(frozen=True)
class OpenAIChat:
    """Calls a `model` behind OpenAI's chat API, with up to `concurrency` requests at a time.

    `base_url` is the address of any server with this protocol, "" for OpenAI. The key is read from the environment
    variable `api_key_env` ("" for a server without a key). It appears in no result, message or key of the store.
    `temperature` and `top_p` are not sent if they are None, which reasoning models require. `max_new_tokens` includes
    thoughts; `length_parameter` is the name under which it is sent. The text ends before the first word of `stop`.
    `seed` is sent with the request's draw added; None sends no seed.

    `json_mode` is the way to enforce `Request.json_schema`. json_schema and json_object use response_format;
    guided_json uses that parameter of older versions of vLLM; none leaves the reply free. `extra_body` is a JSON object
    of further parameters, which differ among servers, e.g. {"reasoning_effort": "low"}; "" for none.

    Thoughts are separated from the answer, whether the server does so or leaves them in <think> and </think>.

    Server errors, timeouts (`timeout_s` for a whole attempt), lost connections and malformed replies are retried up to
    `max_retries` times. The delay is the server's (Retry-After), or `backoff_s`, doubled each time; at most two
    minutes. Rate limits are retried as long as the account answers any requests, and for two minutes more with the
    default settings (4 x `backoff_s` x 2^`max_retries`). If no request can succeed (a rejected key, an unknown model,
    no server, or many consecutive failures; see `Breaker`), the remaining ones are not sent and also end as ERROR.

    Draws of one answer (`generator=self_consistency`) share a request, up to `completions_per_request` of them. The
    server then reads the prompt once, and charges for it once. A value above 1 requires `seed` to be None, because a
    seed determines a single completion. Completions that the server leaves out are requested one by one.

    The limits per minute hold for all users of the model with this key; see `components.openai_server.pace`.
    """

    model: str
    temperature: float | None = 0.0
    top_p: float | None = 1.0
    max_new_tokens: int = 1024
    stop: tuple[str, ...] = ()
    seed: int | None = None
    json_mode: JsonMode = JsonMode.JSON_SCHEMA
    extra_body: str = ""
    length_parameter: LengthParameter = runtime_only(LengthParameter.AUTO, "another name for the same limit")
    base_url: str = runtime_only("", "the model's name determines the answer, not the server that runs it")
    api_key_env: str = runtime_only("OPENAI_API_KEY", "a key gives access, and is secret")
    timeout_s: float = runtime_only(120.0, "an answer that arrives too late is requested again")
    max_retries: int = runtime_only(5, "failures are retried until an answer arrives; failed ones are not cached")
    backoff_s: float = runtime_only(1.0, "waiting changes no answer")
    concurrency: int = runtime_only(8, "requests do not depend on each other")
    completions_per_request: int = runtime_only(1, "without a seed, draws are the same together and one by one")
    max_requests_per_minute: int | None = runtime_only(None, "waiting changes no answer")
    max_tokens_per_minute: int | None = runtime_only(None, "waiting changes no answer")

    version: ClassVar[int] = 2
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def check(self) -> list[str]:
        """Return one message per error in the fields, and a message if the key is not set."""
        problems = self.server.check() + sampling_problems(self) + too_small(self, completions_per_request=1)
        if self.completions_per_request > 1 and self.seed is not None:
            problems.append(
                f"completions_per_request: got {self.completions_per_request} with seed={self.seed}, which fixes "
                "a single completion, expected 1, or seed=null"
            )
        if not isinstance(self._extra, dict):
            problems.append(f"extra_body: got {self.extra_body!r}, expected a JSON object, or '' for none")
        elif fixed := self._extra.keys() & _FIXED:
            problems.append(f"extra_body: contains {sorted(fixed)}, which other fields set. Remove them.")
        return problems

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers as they arrive. Closing the iterator, or an interrupt, cancels open calls immediately."""
        yield from self.generate_with(self.server, requests)

    def generate_with(self, server: Server, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers from `server` instead of the server that the fields describe; see `generate`."""
        unanswered = yield from self._answers(server, _group(requests, self.completions_per_request))
        if unanswered:
            log.warning(
                "%s returned fewer completions than requested: the other %d are requested one by one "
                "(completions_per_request=1 is as fast)",
                extract_host(self.base_url),
                len(unanswered),
            )
            yield from self._answers(server, _group(unanswered, 1))

    def _answers(self, server: Server, groups: Sequence[_Draws]) -> Generator[Answer, None, list[Request]]:
        """Yield answers as they arrive. Return the requests for which a reply had no completion."""
        unanswered: list[Request] = []
        with closing(server.call("/chat/completions", groups, self._complete)) as outcomes:
            for requests, outcome in outcomes:
                if isinstance(outcome, FailedCall):
                    yield from map(outcome.answer, requests)
                else:
                    yield from outcome
                    unanswered += requests[len(outcome) :]
        return unanswered

    @property
    def account(self) -> Account:
        """The account whose limits requests count against."""
        return self.server.account

    @property
    def server(self) -> Server:
        """The server that the fields describe."""
        return build_server(self)

    async def _complete(self, session: Session, requests: _Draws) -> list[Answer]:
        parameters = self._parameters(requests[0])
        if len(requests) > 1:
            parameters["n"] = len(requests)
        try:
            reply = await session.post(parameters, max_new_tokens=self.max_new_tokens * len(requests))
        except HttpError as error:
            if not is_filtered_prompt(error):
                raise
            return [Answer(request.id, AnswerState.REFUSED) for request in requests]
        return read_replies(reply.content, [request.id for request in requests], reply.latency_s)

    def _parameters(self, request: Request) -> dict[str, object]:
        parameters: dict[str, object] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            self._length_parameter: self.max_new_tokens,
        }
        optional = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "stop": list(self.stop) or None,
            "seed": None if self.seed is None else self.seed + request.draw,
        }
        parameters |= {name: value for name, value in optional.items() if value is not None}
        parameters |= self._extra
        return parameters | (self._schema_parameters(request.json_schema) if request.json_schema else {})

    @property
    def _length_parameter(self) -> str:
        if self.length_parameter is LengthParameter.AUTO:
            is_openai = extract_host(self.base_url) == extract_host("")
            return "max_completion_tokens" if is_openai else "max_tokens"
        return self.length_parameter.value

    @property
    def _extra(self) -> Any:
        """The content of `extra_body`; None if it is not JSON."""
        try:
            return json.loads(self.extra_body or "{}")
        except (RecursionError, ValueError):
            return None

    def _schema_parameters(self, schema: Mapping[str, object]) -> dict[str, object]:
        """Return the parameters that make the server follow a schema."""
        named = {"name": "reply", "schema": dict(schema), "strict": True}
        parameters: dict[JsonMode, dict[str, object]] = {
            JsonMode.JSON_SCHEMA: {"response_format": {"type": "json_schema", "json_schema": named}},
            JsonMode.JSON_OBJECT: {"response_format": {"type": "json_object"}},
            JsonMode.GUIDED_JSON: {"guided_json": dict(schema)},
            JsonMode.NONE: {},
        }
        return parameters[self.json_mode]


def _group(requests: Sequence[Request], max_size: int) -> list[_Draws]:
    """Return groups of at most `max_size` requests that are equal for a server."""
    if max_size == 1:  # keep the order: a caller with several draws may want the first draws of all questions first
        return [(request,) for request in requests]
    equal: defaultdict[Hashable, list[Request]] = defaultdict(list)
    for request in requests:
        equal[request.messages, json.dumps(request.json_schema, sort_keys=True)].append(request)
    return [
        tuple(draws[first : first + max_size]) for draws in equal.values() for first in range(0, len(draws), max_size)
    ]
