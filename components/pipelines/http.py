"""A custom pipeline behind an HTTP address."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.fields import runtime_only
from components.openai_server.limiter import Account
from components.openai_server.server import Server
from components.openai_server.server_errors import Malformed
from components.openai_server.session import Session
from components.openai_server.token_counts import TokenCountPaths
from components.pipelines.pipeline_reply import read_reply, split_question
from components.protocols import AnswersFrom
from components.records import Answer, Request
from components.user_code.returned_passages import BadReply

_EXAMPLE = "http://127.0.0.1:9000/answer"
_COUNTED_AT = TokenCountPaths(frozenset({"answer"}), ("usage", "prompt_tokens"), ("usage", "completion_tokens"))


@dataclass(frozen=True)
class HttpPipeline:
    """A pipeline behind an address, which answers up to `concurrency` questions at a time.

    Each question is a POST of JSON to `url`: `question`, `history` (the earlier turns, each with `question` and
    `answer`, oldest first) and `parameters`. The reply is JSON: a string, or an object as `read_reply` expects it.

    `revision` identifies what answers at the address, such as a release or commit. It is required, and part of the keys
    of the replies: nothing else shows that the pipeline changed. `api_key_env` names an environment variable with a
    key, which is sent as a bearer token. For failures, retries and limits see `OpenAIChat`. A reply that breaks the
    contract is requested again like any malformed reply.
    """

    url: str
    revision: str | int | float
    parameters: Mapping[str, bool | int | float | str]
    api_key_env: str = runtime_only("", "a key gives access, and is secret")
    timeout_s: float = runtime_only(600.0, "an answer that arrives too late is requested again")
    max_retries: int = runtime_only(5, "failures are retried until an answer arrives; failed ones are not cached")
    backoff_s: float = runtime_only(1.0, "waiting changes no answer")
    concurrency: int = runtime_only(1, "requests do not depend on each other")
    max_requests_per_minute: int | None = runtime_only(None, "waiting changes no answer")
    max_tokens_per_minute: int | None = runtime_only(None, "waiting changes no answer")

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_built_in: ClassVar[bool] = False

    def __hash__(self) -> int:
        """Hash the parameters regardless of their order."""
        return hash((self.url, self.revision, frozenset(self.parameters.items()), self.api_key_env))

    @property
    def model(self) -> str:
        """The revision as the name of a model, for prices and messages."""
        return f"pipeline {self.revision}"

    def check(self) -> list[str]:
        """Return one message per error in the fields, and a message if the API key is not set."""
        problems = [] if self.url.strip() else [f"url: is empty, expected the address of the pipeline, e.g. {_EXAMPLE}"]
        if not str(self.revision).strip():
            problems.append(
                "revision: is empty, expected a version of the pipeline, e.g. a release or a commit: answers are "
                "cached, and nothing else shows that the pipeline behind an address changed"
            )
        server_problems = [problem.replace("base_url:", "url:", 1) for problem in self._server.check()]
        return [*problems, *server_problems]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers as they arrive. Closing the iterator, or an interrupt, cancels open calls immediately."""
        return self._server.answers("", requests, self._ask)

    @property
    def account(self) -> Account:
        """The account whose limits requests count against."""
        return self._server.account

    @property
    def _server(self) -> Server:
        return Server(
            self.model,
            self.url,
            self.timeout_s,
            self.max_retries,
            self.backoff_s,
            self.concurrency,
            self.api_key_env,
            self.max_requests_per_minute,
            self.max_tokens_per_minute,
            if_refused="start the pipeline, or give its address as pipeline.url",
            settings="the pipeline",
        )

    async def _ask(self, session: Session, request: Request) -> Answer:
        question, history = split_question(request)
        body = {"question": question, "history": history, "parameters": dict(self.parameters)}
        reply = await session.post(body, counted_at=_COUNTED_AT)
        try:
            return read_reply(reply.content, request.id, reply.latency_s)
        except BadReply as error:
            raise Malformed(str(error)) from error
