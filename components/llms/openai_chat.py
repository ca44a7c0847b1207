"""A language model behind OpenAI's chat API, which vLLM, SGLang, llama.cpp, Ollama and most providers speak."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from components.fields import runtime_only
from components.llms.openai_replies import read_reply
from components.openai_server.access import host_of
from components.openai_server.gate import Account
from components.openai_server.server import Failed, Server
from components.openai_server.session import Session
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Request


class JsonMode(StrEnum):
    """How a server is told the JSON schema that a reply should follow."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    GUIDED_JSON = "guided_json"
    NONE = "none"


@dataclass(frozen=True)
class OpenAIChat:
    """Asks `model` for one completion per request, `concurrency` requests at a time.

    `base_url` is the address of any server that speaks the protocol, "" for OpenAI's own. The key is read from the
    environment variable `api_key_env` ("" for a server that wants none), and appears in no result, no message and no
    key of the store. `max_new_tokens` is sent as max_tokens (as max_completion_tokens to OpenAI, whose newer models
    require it). `seed` is sent with the request's draw added; None sends no seed. `json_mode` says how
    `Request.json_schema` is enforced: json_schema and json_object through response_format, guided_json through the
    parameter of that name in older versions of vLLM, none not at all.

    Rate limits, server errors, timeouts (`timeout_s` for a whole attempt), lost connections and malformed replies are
    retried up to `max_retries` times, after the time that the server names (Retry-After) or `backoff_s`, doubled each
    time; at most two minutes. If no request can succeed (a refused key, an unknown model, no server, or many failures
    in a row: see Breaker), the remaining ones are not sent and end as ERROR too.

    The limits per minute hold for all who ask the model with this key: see `components.openai_server.pace`.
    """

    model: str
    temperature: float = 0.0
    top_p: float = 1.0
    max_new_tokens: int = 1024
    seed: int | None = None
    json_mode: JsonMode = JsonMode.JSON_SCHEMA
    base_url: str = runtime_only("", "the model's name decides what is answered, not the server that runs it")
    api_key_env: str = runtime_only("OPENAI_API_KEY", "a key gives access, and is secret")
    timeout_s: float = runtime_only(120.0, "an answer that comes too late is asked for again")
    max_retries: int = runtime_only(5, "failures are retried until an answer comes; failed ones are not kept")
    backoff_s: float = runtime_only(1.0, "waiting changes no answer")
    concurrency: int = runtime_only(8, "requests do not depend on each other")
    max_requests_per_minute: int | None = runtime_only(None, "waiting changes no answer")
    max_tokens_per_minute: int | None = runtime_only(None, "waiting changes no answer")

    version: ClassVar[int] = 2
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def check(self) -> list[str]:
        """What is wrong with the fields, and a key that is not set."""
        mistakes = self._server.check()
        for name, low in {"temperature": 0, "max_new_tokens": 1}.items():
            if not getattr(self, name) >= low:
                mistakes.append(f"{name}: got {getattr(self, name)}, wanted at least {low}")
        if not 0 < self.top_p <= 1:
            mistakes.append(f"top_p: got {self.top_p}, wanted a share in (0, 1]")
        return mistakes

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Answers as they arrive. Closing the iterator, or an interrupt, cancels the calls under way at once."""
        with closing(self._server.call(requests, self._complete)) as outcomes:
            for request, outcome in outcomes:
                if isinstance(outcome, Failed):
                    yield Answer(request.id, AnswerState.ERROR, error=outcome.message, error_class=outcome.error_class)
                else:
                    yield outcome

    @property
    def account(self) -> Account:
        """Whose limits requests count against."""
        return self._server.account

    @property
    def _server(self) -> Server:
        return Server(
            self.model,
            self.base_url,
            self.api_key_env,
            self.timeout_s,
            self.max_retries,
            self.backoff_s,
            self.concurrency,
            self.max_requests_per_minute,
            self.max_tokens_per_minute,
        )

    async def _complete(self, session: Session, request: Request) -> Answer:
        reply = await session.post("/chat/completions", self._parameters(request))
        return read_reply(reply.content, request.id, reply.latency_s)

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_completion_tokens" if host_of(self.base_url) == host_of("") else "max_tokens": self.max_new_tokens,
        }
        if self.seed is not None:
            parameters["seed"] = self.seed + request.draw
        return parameters | (self._enforced(request.json_schema) if request.json_schema else {})

    def _enforced(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that make the server follow a schema."""
        named = {"name": "reply", "schema": dict(schema), "strict": True}
        parameters: dict[JsonMode, dict[str, Any]] = {
            JsonMode.JSON_SCHEMA: {"response_format": {"type": "json_schema", "json_schema": named}},
            JsonMode.JSON_OBJECT: {"response_format": {"type": "json_object"}},
            JsonMode.GUIDED_JSON: {"guided_json": dict(schema)},
            JsonMode.NONE: {},
        }
        return parameters[self.json_mode]
