"""Language models of llama-index, by the import path of their class."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, ClassVar

from components.errors import ComponentError
from components.fields import code_metadata, runtime_only
from components.llms.endings import is_filtered_prompt
from components.llms.llama_index_replies import as_server_error, error_line, read_reply
from components.openai_server.access import read_api_key
from components.openai_server.breaker import NOT_SENT, Breaker
from components.openai_server.limiter import current_limiter
from components.openai_server.server_errors import HttpError, classify_error
from components.pretrained.llama_index_class import LlamaIndexClass
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Request

_BASE = "llama_index.core.llms.LLM"
_EXAMPLE = "llama_index.llms.ollama.Ollama"


@dataclass(frozen=True)
class LlamaIndexChat:
    """A language model class of llama-index, e.g. `llama_index.llms.ollama.Ollama` (package llama-index-llms-ollama).

    The class must inherit `LLM`. Its method `chat` answers up to `concurrency` requests at a time, in threads.

    `arguments` are passed to its constructor, and are part of the keys of its replies. They include the model's name
    and its token limit. They must include `temperature` if the class has it; above 0, equal requests may get different
    answers. They must not include secrets: `api_key_env` names the environment variable with the argument `api_key`, ""
    for none. Many classes read a variable such as OPENAI_API_KEY themselves.

    The class controls timeouts and retries; see its arguments. If it raises, the answer has the state ERROR and the
    class of its HTTP status. If no request can succeed (see `Breaker`), the remaining ones are not sent and also end as
    ERROR. The finish reason and the token counts come from the raw reply, if the class provides it. JSON schemas are
    not enforced.
    """

    class_path: str = field(metadata=code_metadata("the class"))
    arguments: Mapping[str, bool | int | float | str]
    api_key_env: str = runtime_only("", "a key gives access, and is secret")
    concurrency: int = runtime_only(4, "requests do not depend on each other")

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def __hash__(self) -> int:
        """Hash the arguments regardless of their order."""
        return hash((self.class_path, frozenset(self.arguments.items()), self.api_key_env, self.concurrency))

    @property
    def model(self) -> str:
        """Name of the model in the arguments, used for prices; the class path if they have none."""
        return self._class.model

    @property
    def revision(self) -> str:
        """The class and its arguments as JSON. It distinguishes classes with the same model."""
        return self._class.revision

    @property
    def temperature(self) -> float:
        """The temperature in the arguments; 0 for a class that does not accept one."""
        return float(self.arguments.get("temperature", 0.0))

    @property
    def max_new_tokens(self) -> int:
        """Maximum number of tokens per answer in the arguments; 0 if they have none."""
        limit = self.arguments.get("max_tokens", self.arguments.get("max_new_tokens"))
        return limit if isinstance(limit, int) else 0

    def check(self) -> list[str]:
        """Return error messages about the class, unknown or missing arguments, secrets, and a key that is not set.
        Imports the class.
        """
        problems = self._class.check()
        if self.concurrency < 1:
            problems.append(f"concurrency: got {self.concurrency}, expected at least 1")
        temperature = self.arguments.get("temperature")
        if temperature is None:
            problems += self._missing_temperature()
        elif isinstance(temperature, str) or not temperature >= 0:
            problems.append(f"arguments.temperature: got {temperature!r}, expected at least 0")
        return problems

    def _missing_temperature(self) -> list[str]:
        try:
            is_taken = self._class.takes("temperature")
        except ComponentError:  # reported by the check of the class
            return []
        if not is_taken:
            return []
        return [
            "arguments.temperature: missing, expected e.g. 0. Defaults differ between classes, and decide "
            "whether equal requests get equal answers."
        ]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers as they arrive. Raises ComponentError if the class cannot be built.

        Closing the iterator, or an interrupt, sends no more requests, and waits for the running calls, which cannot be
        cancelled.
        """
        if not requests:
            return
        llm = self._class.instance()
        breaker = Breaker(self.concurrency, current_limiter().health(f"{self.class_path} {dict(self.arguments)}"))
        pool = ThreadPoolExecutor(min(self.concurrency, len(requests)))
        try:
            for call in as_completed([pool.submit(self._answer, llm, request, breaker) for request in requests]):
                answer, error = call.result()
                if error:
                    breaker.record_failure(error, answer.error)
                elif answer.state is not AnswerState.ERROR:
                    breaker.record_success()
                yield answer
        finally:
            pool.shutdown(cancel_futures=True)

    def _answer(self, llm: Any, request: Request, breaker: Breaker) -> tuple[Answer, Exception | None]:
        """Return the answer, with the exception if the request was sent and failed."""
        if breaker.is_open:
            return Answer.from_failure(request, f"{NOT_SENT}: {breaker.reason}", breaker.error_class), None
        started = time.perf_counter()
        try:
            response = llm.chat(_messages(request))
            return read_reply(response, request.id, time.perf_counter() - started), None
        except Exception as error:  # noqa: BLE001 - the classes share no exception class
            server_error = as_server_error(error)
            if isinstance(server_error, HttpError) and is_filtered_prompt(server_error):
                return Answer(request.id, AnswerState.REFUSED), None
            line = error_line(error, secret=read_api_key(self.api_key_env))
            return Answer.from_failure(
                request, f"{self.class_path}: {line}", classify_error(server_error)
            ), server_error

    @property
    def _class(self) -> LlamaIndexClass:
        return LlamaIndexClass(self.class_path, self.arguments, self.api_key_env, _BASE, _EXAMPLE)


def _messages(request: Request) -> list[Any]:
    from llama_index.core.llms import ChatMessage

    return [ChatMessage(role=message.role, content=message.content) for message in request.messages]
