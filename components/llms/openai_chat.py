"""A language model behind OpenAI's chat API, which vLLM, SGLang, llama.cpp, Ollama and most providers speak."""

import asyncio
import atexit
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from components.fields import runtime_only
from components.llms.openai_breaker import Breaker
from components.llms.openai_errors import is_temporary, message_of, retry_after_s
from components.llms.openai_replies import read_reply
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_OPENAI = "https://api.openai.com/v1"
_LONGEST_WAIT_S = 120.0
_CONNECT_TIMEOUT_S = 10.0


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
    require it); with `seed` None no seed is sent. `json_mode` says how `Request.json_schema` is enforced: json_schema
    and json_object through response_format, guided_json through the parameter of that name in older versions of vLLM,
    none not at all.

    Rate limits, server errors, timeouts (`timeout_s` for a whole attempt), lost connections and malformed replies are
    retried up to `max_retries` times, after the time that the server names (Retry-After) or `backoff_s`, doubled each
    time; at most two minutes. If no request can succeed (a refused key, an unknown model, no server, or many failures
    in a row: see Breaker), the remaining ones are not sent and end as ERROR too.
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

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def check(self) -> list[str]:
        """What is wrong with the fields, and a key that is not set."""
        mistakes = [] if self.model.strip() else ["model: is empty; wanted the model's name as the server knows it"]
        least = {"temperature": 0, "max_new_tokens": 1, "max_retries": 0, "backoff_s": 0, "concurrency": 1}
        mistakes += [
            f"{name}: got {getattr(self, name)}, wanted at least {low}"
            for name, low in least.items()
            if not getattr(self, name) >= low
        ]
        if not 0 < self.top_p <= 1:
            mistakes.append(f"top_p: got {self.top_p}, wanted a share in (0, 1]")
        if not self.timeout_s > 0:
            mistakes.append(f"timeout_s: got {self.timeout_s}, wanted more than 0")
        return [*mistakes, *_mistakes_of_url(self.base_url), *_mistakes_of_key(self.api_key_env)]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Answers as they arrive. Closing the iterator, or an interrupt, cancels the calls under way at once."""
        from anyio.from_thread import start_blocking_portal

        if not requests:
            return
        waiting, running = iter(requests), set[Future[Answer]]()
        # The calls run in an event loop in a thread of its own. Unlike threads they can be cancelled there, and they go
        # on while the caller writes an answer to disk.
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            client = stack.enter_context(portal.wrap_async_context_manager(self._client()))
            stack.callback(lambda: [future.cancel() for future in running])
            # An iterator that a traceback keeps alive would be closed only after Python has frozen the loop, and wait
            # for ever. When the atexit handlers run, the loop is still alive.
            atexit.register(stack.close)
            stack.callback(atexit.unregister, stack.close)
            ask = partial(portal.start_task_soon, self._answer, client, Breaker(self.concurrency))
            running |= {ask(request) for request in islice(waiting, self.concurrency)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {ask(request) for request in islice(waiting, len(done))}
                for future in done:
                    yield future.result()

    def _client(self) -> "AsyncOpenAI":
        from openai import AsyncOpenAI, Timeout

        # We do the retries: the client's own do not cover malformed replies, and its waits cannot be set. We also keep
        # the time limit: the client's limits the silence between two packets, not the attempt.
        return AsyncOpenAI(
            api_key=_key_in(self.api_key_env) or "none",
            base_url=self.base_url or _OPENAI,
            timeout=Timeout(None, connect=_CONNECT_TIMEOUT_S),
            max_retries=0,
        )

    async def _answer(self, client: "AsyncOpenAI", breaker: Breaker, request: Request) -> Answer:
        """One request with its retries. Never raises: whatever goes wrong becomes the answer's error."""
        for attempt in range(1, self.max_retries + 2):
            if breaker.is_open:
                again = " again" if attempt > 1 else ""
                return Answer(request.id, AnswerState.ERROR, error=f"not asked{again}: {breaker.reason}")
            started = time.perf_counter()
            try:
                async with asyncio.timeout(self.timeout_s):
                    completion = await client.chat.completions.create(**self._parameters(request))
                answer = read_reply(completion, request.id, time.perf_counter() - started)
            except Exception as error:  # noqa: BLE001 - becomes the answer's error
                if not is_temporary(error) or attempt > self.max_retries:
                    text = self._error_text(error, attempt)
                    breaker.failed(error, text)
                    return Answer(request.id, AnswerState.ERROR, error=text)
                await breaker.wait(self._wait_s(error, attempt))
            else:
                breaker.succeeded()
                return answer
        raise AssertionError("the last attempt returns")

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_completion_tokens" if self._host() == urlsplit(_OPENAI).netloc else "max_tokens": self.max_new_tokens,
        }
        if self.seed is not None:
            parameters["seed"] = self.seed
        return parameters | (self._enforced(request.json_schema) if request.json_schema else {})

    def _enforced(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that make the server follow a schema."""
        named = {"name": "reply", "schema": dict(schema), "strict": True}
        parameters: dict[JsonMode, dict[str, Any]] = {
            JsonMode.JSON_SCHEMA: {"response_format": {"type": "json_schema", "json_schema": named}},
            JsonMode.JSON_OBJECT: {"response_format": {"type": "json_object"}},
            JsonMode.GUIDED_JSON: {"extra_body": {"guided_json": dict(schema)}},
            JsonMode.NONE: {},
        }
        return parameters[self.json_mode]

    def _wait_s(self, error: Exception, attempt: int) -> float:
        """The server's wait, but never less than our own: a server that says 0 would use up all attempts at once."""
        jitter = random.uniform(0.75, 1.25)  # noqa: S311 - so that callers do not all come back at the same moment
        return min(_LONGEST_WAIT_S, max(self.backoff_s * 2.0 ** (attempt - 1) * jitter, retry_after_s(error) or 0.0))

    def _error_text(self, error: Exception, attempt: int) -> str:
        message = message_of(error, secret=_key_in(self.api_key_env))
        return f"{self.model} at {self._host()}: {message} (attempt {attempt} of {self.max_retries + 1})"

    def _host(self) -> str:
        return urlsplit(self.base_url or _OPENAI).netloc


def _key_in(variable: str) -> str:
    """The key in an environment variable, without a line break that a file or a shell left at its end; "" if unset."""
    return os.environ.get(variable, "").strip() if variable else ""


def _mistakes_of_key(variable: str) -> list[str]:
    key = _key_in(variable)
    if variable and not key:
        return [
            f"api_key_env: the environment variable {variable} is not set; set it (export {variable}=...), name "
            f'another, or take api_key_env="" for a server that wants no key'
        ]
    if not (key.isascii() and key.isprintable()):
        return [f"api_key_env: the key in {variable} holds characters that no HTTP header can; copy it again"]
    return []


def _mistakes_of_url(url: str) -> list[str]:
    if "@" in url:
        return ["base_url: holds a user name or password; give the key by api_key_env instead"]
    if "?" in url or "#" in url:  # the address goes into results, where a key in it could be read
        return [
            'base_url: has a part behind "?" or "#", wanted an address such as http://localhost:8000/v1; give a key by '
            "api_key_env instead"
        ]
    try:
        parts = urlsplit(url or _OPENAI)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, a bracket that is not closed
        usable = False
    return [] if usable else [f"base_url: got {url!r}, wanted one such as http://localhost:8000/v1"]
