"""A language model behind the chat API of OpenAI, which vLLM, SGLang, llama.cpp, Ollama and most providers speak."""

import os
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from components.fields import runtime_only
from components.llms.openai_errors import Malformed, is_for_all, is_outage, is_temporary, message_of, retry_after_s
from components.records import Answer, AnswerState, Request

if TYPE_CHECKING:
    from openai import OpenAI

_LONGEST_WAIT_S = 120.0


class JsonMode(StrEnum):
    """How a server is told the JSON schema that a reply should follow."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    GUIDED_JSON = "guided_json"
    NONE = "none"


@dataclass(frozen=True)
class OpenAIChat:
    """Asks `model` for one completion per request, `concurrency` requests at a time.

    `base_url` is that of any server that speaks the protocol, "" for OpenAI's own. The key is read from the environment
    variable `api_key_env` ("" for a server that wants none); it is in no result, no message and no key.
    `max_new_tokens` is sent as max_tokens; `seed` None sends none. `json_mode` is how `Request.json_schema` is
    enforced: json_schema and json_object by response_format, guided_json by vLLM's parameter of this name, none not at
    all.

    Rate limits, server errors, timeouts, lost connections and malformed replies are tried again, up to `max_retries`
    times, after the time that the server names (Retry-After) or `backoff_s`, doubled each time; at most two minutes. A
    refused key or an
    unknown model fails all requests at once, and so do as many lost connections in a row as there are concurrent
    requests: what was not asked then ends as ERROR too.
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

    def check(self) -> list[str]:
        """Mistakes of the fields, and a key that is not set."""
        mistakes = [] if self.model.strip() else ["model: is empty; wanted the model's name as the server knows it"]
        if self.base_url and urlsplit(self.base_url).scheme not in ("http", "https"):
            mistakes.append(f"base_url: got {self.base_url!r}, wanted one such as http://localhost:8000/v1")
        if self.base_url and "@" in urlsplit(self.base_url).netloc:
            mistakes.append("base_url: holds a user name or password; give the key by api_key_env instead")
        if self.api_key_env and not os.environ.get(self.api_key_env):
            mistakes.append(
                f"api_key_env: the environment variable {self.api_key_env} is not set; set it (export "
                f'{self.api_key_env}=...), name another, or take api_key_env="" for a server that wants no key'
            )
        least = {"temperature": 0, "max_new_tokens": 1, "max_retries": 0, "backoff_s": 0, "concurrency": 1}
        mistakes += [
            f"{name}: got {getattr(self, name)}, wanted at least {low}"
            for name, low in least.items()
            if getattr(self, name) < low
        ]
        if not 0 < self.top_p <= 1:
            mistakes.append(f"top_p: got {self.top_p}, wanted a share in (0, 1]")
        if self.timeout_s <= 0:
            mistakes.append(f"timeout_s: got {self.timeout_s}, wanted more than 0")
        return mistakes

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Answers as they arrive. Closing the iterator gives up what is under way."""
        if not requests:
            return
        client, calls = self._client(), _Calls(self.concurrency)
        waiting = iter(requests)
        pool = ThreadPoolExecutor(self.concurrency, thread_name_prefix="llm")
        try:
            running = {self._start(pool, client, calls, request) for request in islice(waiting, self.concurrency)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {self._start(pool, client, calls, request) for request in islice(waiting, len(done))}
                for future in done:
                    yield future.result()
        finally:
            calls.stop("given up")
            pool.shutdown(wait=False, cancel_futures=True)
            client.close()

    def _client(self) -> "OpenAI":
        from openai import OpenAI

        key = os.environ.get(self.api_key_env, "") if self.api_key_env else ""
        return OpenAI(api_key=key or "none", base_url=self.base_url or None, timeout=self.timeout_s, max_retries=0)

    def _start(self, pool: ThreadPoolExecutor, client: "OpenAI", calls: "_Calls", request: Request) -> "Future[Answer]":
        return pool.submit(self._answer, client, calls, request)

    def _answer(self, client: "OpenAI", calls: "_Calls", request: Request) -> Answer:
        """One request with its retries. Never raises: whatever goes wrong is the answer's error."""
        for attempt in range(1, self.max_retries + 2):
            if calls.stopped.is_set():
                return Answer(request.id, AnswerState.ERROR, error=f"not asked: {calls.reason}")
            started = time.perf_counter()
            try:
                completion = client.chat.completions.create(**self._parameters(request))
                answer = _read(completion, request.id, time.perf_counter() - started)
            except Exception as error:  # noqa: BLE001 - becomes the answer's error
                if not is_temporary(error) or attempt > self.max_retries:
                    text = f"{self._place()}: {message_of(error)} (attempt {attempt} of {self.max_retries + 1})"
                    calls.failed(error, text)
                    return Answer(request.id, AnswerState.ERROR, error=text)
                calls.stopped.wait(self._wait_s(error, attempt))
            else:
                calls.succeeded()
                return answer
        raise AssertionError("the last attempt returns")

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_new_tokens,
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
        named = retry_after_s(error)
        jitter = random.uniform(0.75, 1.25)  # noqa: S311 - so that callers do not come back all at once
        return min(_LONGEST_WAIT_S, self.backoff_s * 2.0 ** (attempt - 1) * jitter if named is None else named)

    def _place(self) -> str:
        return f"{self.model} at {urlsplit(self.base_url).netloc or 'api.openai.com'}"


class _Calls:
    """What the concurrent calls know of each other: whether to go on, and why not."""

    def __init__(self, most_outages: int) -> None:
        self.stopped = threading.Event()
        self.reason = ""
        self._most_outages = most_outages
        self._n_outages = 0
        self._lock = threading.Lock()

    def stop(self, reason: str) -> None:
        """Nothing more is asked."""
        with self._lock:
            self.reason = self.reason or reason
        self.stopped.set()

    def succeeded(self) -> None:
        """The server answers."""
        with self._lock:
            self._n_outages = 0

    def failed(self, error: Exception, text: str) -> None:
        """Stops all, if the others would fail for the same reason."""
        with self._lock:
            self._n_outages = self._n_outages + 1 if is_outage(error) else 0
            away = self._n_outages >= self._most_outages
        if is_for_all(error) or away:
            self.stop(text)


def _read(completion: Any, request_id: str, latency_s: float) -> Answer:
    """The answer in a completion. Raises Malformed for what is none."""
    choices = getattr(completion, "choices", None)
    if not choices or getattr(choices[0], "message", None) is None:
        raise Malformed(f"a reply without a choice: {str(completion)[:200]}")
    choice = choices[0]
    text = (choice.message.content or "").strip()
    refused = choice.finish_reason == "content_filter" or bool(getattr(choice.message, "refusal", None))
    state = AnswerState.REFUSED if refused else AnswerState.OK if text else AnswerState.EMPTY
    usage = completion.usage
    return Answer(
        request_id,
        state,
        text if state is AnswerState.OK else "",
        n_prompt_tokens=usage.prompt_tokens if usage else 0,
        n_completion_tokens=usage.completion_tokens if usage else 0,
        latency_s=latency_s,
    )
