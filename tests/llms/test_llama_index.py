"""Language model classes of llama-index, found by their import path."""

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.errors import ComponentError
from components.llms.llama_index import LlamaIndexChat
from components.llms.llama_index_replies import as_server_error, read_reply
from components.openai_server.server_errors import Malformed, classify_error
from components.records import Answer, AnswerState, ErrorClass, Message, Request
from runner.engine.identity import describe
from runner.engine.spending import SharedLimiter
from runner.engine.spending.admission import admit_requests
from tests.contracts.llm_contract import LLMContract, request

ECHO = "llama_index.llms.echo.Echo"
SOURCE = '''
import threading
import time

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM

asked = []
meeting = threading.Barrier(1)


class Refused(Exception):
    status_code = 401


class Filtered(Exception):
    status_code = 400
    body = None


class Echo(CustomLLM):
    """Answers with its beginning and what it was asked last."""

    begin: str = "so: "
    temperature: float = 0.5
    api_key: str = ""
    error: str = ""
    delay_s: float = 0.0

    @property
    def metadata(self):
        return LLMMetadata()

    def chat(self, messages, **kwargs):
        asked.append([(message.role.value, message.content) for message in messages])
        meeting.wait(60)
        time.sleep(self.delay_s)
        if self.error == "refused":
            raise Refused("no such key: " + self.api_key)
        if self.error == "filtered":
            raise Filtered("Error code: 400")
        if self.error and self.error in messages[-1].content:
            raise ValueError(self.error)
        text = self.begin + messages[-1].content
        return ChatResponse(message=ChatMessage(role="assistant", content=text), raw={"usage": {"prompt_tokens": 7}})

    def complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError
'''


@pytest.fixture(scope="module", autouse=True)
def _package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A module in the namespace of llama-index, like an installed integration."""
    root = tmp_path_factory.mktemp("site")
    folder = root / "llama_index" / "llms"
    folder.mkdir(parents=True)
    (folder / "echo.py").write_text(SOURCE, encoding="utf-8")
    sys.path.append(str(root))
    yield
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.startswith("llama_index.llms")]:
        del sys.modules[name]


def echo(concurrency: int = 4, **arguments: Any) -> LlamaIndexChat:
    return LlamaIndexChat(ECHO, {"temperature": 0, **arguments}, concurrency=concurrency)


def questions(n: int) -> list[Request]:
    return [Request(str(place), (Message("user", f"q{place}"),), request("q").sample, ()) for place in range(n)]


def sent_messages() -> list[list[tuple[str, str]]]:
    from llama_index.llms import echo as module

    module.asked.clear()
    found: list[list[tuple[str, str]]] = module.asked
    return found


class TestContract(LLMContract):
    component = echo()


class TestContractOfMockLLM(LLMContract):
    component = LlamaIndexChat("llama_index.core.llms.MockLLM", {})


def test_llama_index_chat_keeps_roles_and_passes_arguments() -> None:
    messages = (Message("system", "Be brief."), Message("user", "北京?"))
    seen = sent_messages()
    (answer,) = echo(begin="well, ").generate([Request("q", messages, request("q").sample, ())])
    assert seen == [[("system", "Be brief."), ("user", "北京?")]]
    assert (answer.state, answer.text) == (AnswerState.OK, "well, 北京?")
    assert (answer.n_prompt_tokens, answer.n_completion_tokens) == (7, None)


def test_llama_index_requests_run_concurrently(monkeypatch: pytest.MonkeyPatch) -> None:
    from llama_index.llms import echo as module

    monkeypatch.setattr(module, "meeting", threading.Barrier(8))  # no request is answered before all have been sent
    answers = list(echo(8, delay_s=0.1).generate(questions(8)))
    assert {answer.request_id: answer.text for answer in answers} == {str(n): f"so: q{n}" for n in range(8)}
    assert min(answer.latency_s for answer in answers) >= 0.1


def test_closing_llama_index_answers_stops_further_requests() -> None:
    seen = sent_messages()
    answers = echo(2, delay_s=0.05).generate(questions(50))
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert len(seen) <= 6
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPoolExecutor")]


def test_failed_llama_index_request_does_not_affect_others() -> None:
    answers = {answer.request_id: answer for answer in echo(error="q1").generate(questions(3))}
    assert [answers[name].state for name in "012"] == [AnswerState.OK, AnswerState.ERROR, AnswerState.OK]
    assert answers["1"].error == f"{ECHO}: ValueError: q1"


def test_rejected_key_is_tried_only_by_the_first_cell(tmp_path: Path) -> None:
    component, limiter = LlamaIndexChat(ECHO, {"temperature": 0, "error": "refused"}, "", 1), SharedLimiter(tmp_path)
    seen = sent_messages()
    first = list(admit_requests(component, questions(5), limiter))
    n_asked = len(seen)
    again = list(admit_requests(component, questions(5), limiter))
    assert 0 < n_asked == len(seen)
    assert {answer.error_class for answer in [*first, *again]} == {ErrorClass.ACCESS}
    assert all(answer.error.startswith("not sent: ") for answer in again)


@pytest.mark.parametrize("body", [{"code": "content_filter"}, {"error": {"code": "content_filter"}}])
def test_llama_index_prompt_that_a_filter_refuses_is_refused(body: dict[str, Any]) -> None:
    llm_module = importlib.import_module(ECHO.rpartition(".")[0])
    llm_module.Filtered.body = body
    (answer,) = LlamaIndexChat(ECHO, {"temperature": 0, "error": "filtered"}, "", 1).generate(questions(1))
    assert (answer.state, answer.error) == (AnswerState.REFUSED, "")


def test_rejected_llama_index_key_is_tried_once_and_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_KEY", "s3cret")
    seen = sent_messages()
    component = LlamaIndexChat(ECHO, {"temperature": 0, "error": "refused"}, "ECHO_KEY", 1)
    answers = list(component.generate(questions(30)))
    assert {answer.error_class for answer in answers} == {ErrorClass.ACCESS}
    assert "no such key: ***" in answers[0].error
    assert "s3cret" not in str(answers)
    assert "not sent: " in answers[-1].error
    assert len(seen) < 30


def test_llama_index_identity_excludes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with_key = LlamaIndexChat(ECHO, {"temperature": 0}, api_key_env="ECHO_KEY")
    (problem,) = with_key.check()
    assert problem.startswith("api_key_env: the environment variable ECHO_KEY is not set. Set it")
    monkeypatch.setenv("ECHO_KEY", "s3cret")
    assert with_key.check() == []
    assert describe(with_key) == describe(echo(concurrency=9))
    assert describe(echo(begin="a")) != describe(echo())


def test_llama_index_model_and_sampling_come_from_the_arguments() -> None:
    named = LlamaIndexChat(ECHO, {"model": "qwen2.5:7b", "temperature": 0.7})
    assert (named.model, named.temperature, named.max_new_tokens) == ("qwen2.5:7b", 0.7, 0)
    assert echo(max_tokens=5).max_new_tokens == echo(max_new_tokens=5).max_new_tokens == 5
    assert LlamaIndexChat("llama_index.core.llms.MockLLM", {}).model == "llama_index.core.llms.MockLLM"
    assert len({hash(named), hash(LlamaIndexChat(ECHO, {"temperature": 0.7, "model": "qwen2.5:7b"}))}) == 1


@pytest.mark.parametrize(
    ("component", "problem"),
    [
        (LlamaIndexChat("os.path.join", {}), "class_path: got 'os.path.join', expected the import path of a class"),
        (LlamaIndexChat("llama_index.llms.gone.Gone", {}), "pip install llama-index-llms-gone"),
        (LlamaIndexChat("llama_index.core.llms.MockLM", {}), "[llama-index]"),
        (LlamaIndexChat("llama_index.MockLLM", {}), "[llama-index]"),
        (LlamaIndexChat("llama_index.core.MockEmbedding", {}), "expected a subclass of LLM"),
        (echo(beginn=1), "Echo; did you mean begin?"),
        (LlamaIndexChat(ECHO, {}), "arguments.temperature: missing"),
        (echo(temperature=-1), "arguments.temperature: got -1, expected at least 0"),
        (echo(api_key="s3cret"), "arguments.api_key: must not contain a secret"),
        (echo(concurrency=0), "concurrency: got 0, expected at least 1"),
    ],
    ids=[
        "another package",
        "not installed",
        "not in core",
        "no module",
        "no llm",
        "misspelt",
        "no temperature",
        "too cold",
        "a secret",
        "none",
    ],
)
def test_llama_index_check_rejects_invalid_classes_and_arguments(component: LlamaIndexChat, problem: str) -> None:
    (found,) = component.check()
    assert problem in found
    assert "s3cret" not in found


def test_arguments_rejected_by_the_llama_index_class_are_an_error() -> None:
    with pytest.raises(ComponentError, match=r"arguments: .* cannot be built from them"):
        list(echo(delay_s="a word").generate(questions(1)))


def read(raw: Any, *, content: str = "so", **others: Any) -> Answer:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse

    return read_reply(ChatResponse(message=ChatMessage(role="assistant", content=content), raw=raw, **others), "q", 0.5)


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        (None, AnswerState.OK),
        ({"choices": [{"finish_reason": "stop"}]}, AnswerState.OK),
        ({"choices": []}, AnswerState.OK),
        (SimpleNamespace(choices=[SimpleNamespace(finish_reason="length")]), AnswerState.TRUNCATED),
        ({"done_reason": "length"}, AnswerState.TRUNCATED),
        ({"stop_reason": "max_tokens"}, AnswerState.TRUNCATED),
        ({"finish_reason": SimpleNamespace(value="MAX_TOKENS")}, AnswerState.TRUNCATED),
        ({"choices": [{"finish_reason": "content_filter"}]}, AnswerState.REFUSED),
    ],
)
def test_finish_reason_of_the_raw_reply_sets_the_state(raw: Any, state: AnswerState) -> None:
    answer = read(raw)
    assert (answer.state, answer.text) == (state, "" if state is AnswerState.REFUSED else "so")


def test_answer_that_the_server_gave_up_is_an_error() -> None:
    with pytest.raises(Malformed, match="finish reason 'abort'"):
        read({"choices": [{"finish_reason": "abort"}]})


def test_white_space_llama_index_reply_is_empty() -> None:
    assert read(None, content=" \n").state is AnswerState.EMPTY


@pytest.mark.parametrize(
    ("raw", "others", "counts"),
    [
        (None, {}, (None, None)),
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 0}}, {}, (7, 0)),
        (SimpleNamespace(usage=SimpleNamespace(input_tokens=7, output_tokens=3)), {}, (7, 3)),
        ({"prompt_eval_count": 7, "eval_count": 3}, {}, (7, 3)),
        ({"usage": {"prompt_tokens": -7, "completion_tokens": True}}, {}, (None, None)),
        (None, {"additional_kwargs": {"prompt_tokens": 7, "completion_tokens": 3}}, (7, 3)),
    ],
    ids=["nowhere", "OpenAI", "Anthropic", "Ollama", "no counts", "beside the raw reply"],
)
def test_token_counts_of_llama_index_replies_are_read(
    raw: Any, others: dict[str, Any], counts: tuple[int | None, int | None]
) -> None:
    answer = read(raw, **others)
    assert (answer.n_prompt_tokens, answer.n_completion_tokens) == counts


def test_llama_index_thoughts_are_separated_from_the_answer() -> None:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ThinkingBlock

    in_text = read(None, content="<think>hm</think>so")
    message = ChatMessage(role="assistant", content="so")
    message.blocks.insert(0, ThinkingBlock(content="hm"))
    in_block = read_reply(ChatResponse(message=message), "q", 0.5)
    assert (in_text.text, in_text.thoughts) == (in_block.text, in_block.thoughts) == ("so", "hm")


def test_key_across_two_reply_blocks_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock, ThinkingBlock

    monkeypatch.setenv("MY_API_KEY", "sk-Ab12Cd34Ef56Gh78Ij90Kl")
    blocks = [
        *(ThinkingBlock(content=each) for each in ("so sk-Ab12Cd34Ef", "56Gh78Ij90Kl")),
        *(TextBlock(text=each) for each in ("It is sk-Ab12Cd34", "Ef56Gh78Ij90Kl.")),
    ]
    answer = read_reply(ChatResponse(message=ChatMessage(role="assistant", blocks=blocks)), "q", 0.5)
    assert (answer.text, answer.thoughts) == ("It is ***.", "so ***")
    blocks = [TextBlock(text="One."), TextBlock(text="Two.")]
    answer = read_reply(ChatResponse(message=ChatMessage(role="assistant", blocks=blocks)), "q", 0.5)
    assert answer.text == "One.\nTwo."


def error_with_status(status: int) -> Exception:
    error = RuntimeError("said the server")
    error.response = SimpleNamespace(status_code=status)  # type: ignore[attr-defined]
    return error


def raised_from(cause: Exception) -> Exception:
    error = RuntimeError("it failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (error_with_status(429), ErrorClass.RATE_LIMIT),
        (error_with_status(503), ErrorClass.SERVER),
        (raised_from(error_with_status(404)), ErrorClass.UNKNOWN_MODEL),
        (raised_from(TimeoutError()), ErrorClass.TIMEOUT),
        (type("APITimeoutError", (type("APIConnectionError", (Exception,), {}),), {})(), ErrorClass.TIMEOUT),
        (type("ConnectError", (Exception,), {})(), ErrorClass.CONNECTION),
        (ConnectionRefusedError(), ErrorClass.CONNECTION),
        (KeyError("content"), ErrorClass.OTHER),
    ],
    ids=repr,
)
def test_llama_index_exceptions_have_an_error_class(error: Exception, expected: ErrorClass) -> None:
    assert classify_error(as_server_error(error)) is expected
