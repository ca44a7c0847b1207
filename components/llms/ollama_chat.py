"""Language models of Ollama, through Ollama's own API."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from components.fields import runtime_only
from components.llms.sampling import sampling_problems
from components.openai_server.limiter import Account
from components.openai_server.look_up import LookUpFailed, fetch_body
from components.openai_server.reply_reading import get_objects, get_text, parse_body, read_count, read_member
from components.openai_server.server import Server, build_server
from components.openai_server.server_errors import Malformed, format_preview
from components.openai_server.session import Session
from components.openai_server.token_counts import TokenCountPaths
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, ErrorClass, Request
from components.text.thoughts import split_thoughts

_LOOK_UP_S = 5.0
_COUNTED_AT = TokenCountPaths(frozenset({"message"}), ("prompt_eval_count",), ("eval_count",))


@dataclass(frozen=True)
class OllamaChat:
    """A model of Ollama, which answers up to `concurrency` requests at a time.

    It does not use Ollama's /v1, which has no parameter for the context window: there, a prompt that is longer than the
    default of a few thousand tokens silently loses its beginning. Here `num_ctx` is the window, in tokens of prompt and
    answer. A prompt that does not fit ends as ERROR (TOO_LONG). Older versions of Ollama cut it anyway, so a prompt
    that fills the window counts as an error too.

    `ollama pull` can change the weights behind a name. `digest` pins them: the ID shown by `ollama list`, or more of
    its digits; "" trusts the name. `think` switches thoughts on or off in models that have them; None leaves the choice
    to the model. Thoughts are separated from the answer. `seed` is sent with the request's draw added. For failures and
    retries see `OpenAIChat`.
    """

    model: str
    digest: str = ""
    temperature: float | None = 0.0
    top_p: float | None = 1.0
    max_new_tokens: int = 1024
    stop: tuple[str, ...] = ()
    seed: int | None = 0
    num_ctx: int = 8192
    think: bool | None = None
    base_url: str = runtime_only("http://localhost:11434", "the model determines the answer, not its server")
    timeout_s: float = runtime_only(600.0, "an answer that arrives too late is requested again")
    max_retries: int = runtime_only(5, "failures are retried until an answer arrives; failed ones are not cached")
    backoff_s: float = runtime_only(1.0, "waiting changes no answer")
    concurrency: int = runtime_only(4, "requests do not depend on each other")
    max_requests_per_minute: int | None = runtime_only(None, "waiting changes no answer")
    max_tokens_per_minute: int | None = runtime_only(None, "waiting changes no answer")

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_free: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Return one message per error in the fields. With a `digest`, ask the server whether the model's name still
        means these weights.
        """
        problems = self._server.check() + sampling_problems(self)
        if not self.num_ctx > self.max_new_tokens:
            problems.append(
                f"num_ctx: got {self.num_ctx}, expected more than max_new_tokens={self.max_new_tokens}: prompt and "
                "answer share it"
            )
        return problems or self._digest_problems()

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers as they arrive. Closing the iterator, or an interrupt, cancels open calls immediately."""
        return self._server.answers("/api/chat", requests, self._complete)

    @property
    def account(self) -> Account:
        """The account whose limits requests count against."""
        return self._server.account

    @property
    def _server(self) -> Server:
        return replace(
            build_server(self), if_refused="start the server (`ollama serve`), or give its address as base_url"
        )

    async def _complete(self, session: Session, request: Request) -> Answer:
        reply = await session.post(
            self._parameters(request), max_new_tokens=self.max_new_tokens, counted_at=_COUNTED_AT
        )
        return _read(reply.content, request.id, reply.latency_s, self.num_ctx)

    def _parameters(self, request: Request) -> dict[str, object]:
        options = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "num_predict": self.max_new_tokens,
            "num_ctx": self.num_ctx,
            "stop": list(self.stop) or None,
            "seed": None if self.seed is None else self.seed + request.draw,
        }
        parameters: dict[str, object] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "stream": False,
            "truncate": False,
            "options": {name: value for name, value in options.items() if value is not None},
        }
        if self.think is not None:
            parameters["think"] = self.think
        if request.json_schema is not None:
            parameters["format"] = dict(request.json_schema)
        return parameters

    def _digest_problems(self) -> list[str]:
        if not self.digest:
            return []
        try:
            models = get_objects(parse_body(fetch_body(f"{self.base_url.rstrip('/')}/api/tags", _LOOK_UP_S)), "models")
            digests = {get_text(model, "name").removesuffix(":latest"): get_text(model, "digest") for model in models}
        except (LookUpFailed, Malformed) as error:
            return [
                f"digest: {self.base_url} does not list its models ({error}). Start `ollama serve`, or set digest=''"
            ]
        digest = digests.get(self.model.removesuffix(":latest"))
        if digest is None:
            return [f"model: Ollama has no {self.model!r}. Download it with: ollama pull {self.model}"]
        if not digest.removeprefix("sha256:").startswith(self.digest.removeprefix("sha256:")):
            return [
                f"digest: got {self.digest!r}, but {self.model!r} is {digest[:12]} on the server. "
                f"Set digest={digest[:12]}, or pull the expected version."
            ]
        return []


def _read(reply: Any, request_id: str, latency_s: float, num_ctx: int) -> Answer:
    """Return the answer in an unchecked reply. Raises Malformed if it has no message, or was broken off."""
    if not isinstance(read_member(reply, "message"), dict):
        raise Malformed(f"{format_preview(reply)}, expected an object as message")
    if reply.get("done") is False:
        raise Malformed(f"{format_preview(reply)}, expected done to be true")
    thoughts, text = split_thoughts(get_text(reply, "message", "content"))
    thoughts = thoughts or get_text(reply, "message", "thinking").strip()
    is_cut = reply.get("done_reason") == "length"
    n_prompt = read_count(reply, "prompt_eval_count")
    state = AnswerState.TRUNCATED if is_cut else AnswerState.OK if text else AnswerState.EMPTY
    answer = Answer(
        request_id,
        state,
        text,
        thoughts=thoughts,
        n_prompt_tokens=n_prompt,
        n_completion_tokens=read_count(reply, "eval_count"),
        n_reasoning_tokens=None if thoughts else 0,
        latency_s=latency_s,
    )
    if n_prompt is None or n_prompt < num_ctx:
        return answer
    cut = f"the prompt fills num_ctx={num_ctx}, and its beginning was cut off. Raise num_ctx."
    return replace(answer, state=AnswerState.ERROR, text="", thoughts="", error=cut, error_class=ErrorClass.TOO_LONG)
