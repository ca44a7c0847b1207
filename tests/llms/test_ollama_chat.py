"""Ollama's own API, as a small server speaks it."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from components.errors import BudgetReached
from components.llms.ollama_chat import OllamaChat
from components.openai_server.limiter import use_limiter
from components.prices import Price, PriceList, Prices
from components.records import Answer, AnswerState, ErrorClass, Message, Request
from runner.engine.spending import Budget, SharedLimiter
from tests.contracts.llm_contract import LLMContract, request
from tests.llms.chat_server import Reply, chat_server, last_message


def reply(content: str = "好", done_reason: str = "stop", **others: Any) -> Reply:
    body = {"message": {"role": "assistant", "content": content}, "done": True, "done_reason": done_reason}
    return Reply(body=json.dumps({**body, "prompt_eval_count": 7, "eval_count": 3, **others}).encode())


def client(url: str, **fields: Any) -> OllamaChat:
    return OllamaChat("m:1b", **{"base_url": url.removesuffix("/v1"), "backoff_s": 0.01, "max_retries": 1, **fields})


def ask(answered: Reply, **fields: Any) -> tuple[Answer, dict[str, Any]]:
    with chat_server(lambda *_: answered) as server:
        (answer,) = client(server.url, **fields).generate(
            [Request("q", (Message("user", "q"),), request("q").sample, ())]
        )
    return answer, server.requests[-1]


class TestContract(LLMContract):
    component = OllamaChat("m")

    @pytest.fixture(autouse=True)
    def server(self) -> Iterator[None]:
        with chat_server(lambda asked, _: reply("" if "空白" in last_message(asked) else "好")) as server:
            self.component = client(server.url)
            yield


@pytest.mark.parametrize("content", ["half", ""])
def test_text_that_ollama_broke_off_is_requested_again(content: str) -> None:
    broken = reply(content, done=False, done_reason=None)
    with chat_server(lambda _, attempt: broken if attempt == 1 else reply()) as server:
        (answer,) = client(server.url).generate([request("q")])
    assert (answer.state, answer.text, len(server.requests)) == (AnswerState.OK, "好", 2)


def test_stopped_ollama_server_is_reported_without_retries() -> None:
    with chat_server(lambda *_: reply()) as server:
        model = client(server.url, max_retries=5, backoff_s=1.0)
    started = time.monotonic()
    (answer,) = model.generate([request("q")])
    assert time.monotonic() - started < 1
    assert answer.error_class is ErrorClass.CONNECTION
    assert "no server listens there: start the server (`ollama serve`), or give its address as base_url" in answer.error


def test_ollama_usage_is_counted_priced_and_limited(tmp_path: Path) -> None:
    prices = Prices("USD", {"own": PriceList("2026-11-22", "a bill", {"m:1b": Price(1e6, 1e6)})})
    limiter = SharedLimiter(tmp_path, tmp_path / "spent", Budget(max_requests=3), prices)
    started = time.monotonic()
    with chat_server(lambda *_: reply(prompt_eval_count=7, eval_count=3)) as server, use_limiter(limiter):
        answers = client(server.url, max_requests_per_minute=240).generate(
            [replace(request("q"), id=str(n)) for n in range(4)]
        )
        with pytest.raises(BudgetReached, match="max_requests=3"):
            list(answers)
    assert time.monotonic() - started > 0.35, "the third waits for its turn"
    assert (limiter.spent.n_requests, limiter.spent.n_prompt_tokens, limiter.spent.n_completion_tokens) == (3, 21, 9)
    assert limiter.spent.cost == 30.0


def test_uncounted_ollama_tokens_count_as_the_maximum(tmp_path: Path) -> None:
    limiter = SharedLimiter(tmp_path, tmp_path / "spent")
    with chat_server(lambda *_: reply(prompt_eval_count=None, eval_count="3")) as server, use_limiter(limiter):
        list(client(server.url, max_new_tokens=500).generate([request("q")]))
    assert limiter.spent.n_completion_tokens == 500
    assert limiter.spent.n_unpriced == 0, "a model on the user's machine is free"
    assert 20 < limiter.spent.n_prompt_tokens < 200


def test_ollama_request_contains_all_parameters() -> None:
    _, sent = ask(reply(), num_ctx=4096, max_new_tokens=9, stop=("\n\n",), seed=3, think=False)
    assert sent == {
        "model": "m:1b",
        "messages": [{"role": "user", "content": "q"}],
        "stream": False,
        "truncate": False,
        "think": False,
        "options": {"temperature": 0.0, "top_p": 1.0, "num_predict": 9, "num_ctx": 4096, "stop": ["\n\n"], "seed": 3},
    }


def test_reply_schema_is_sent_as_the_ollama_format() -> None:
    schema = {"type": "object"}
    asked = Request("q", (Message("user", "q"),), request("q").sample, (), json_schema=schema)
    assert OllamaChat("m")._parameters(asked)["format"] == schema


def test_ollama_reply_text_and_token_counts_are_read() -> None:
    answer, _ = ask(reply(" so "))
    assert (answer.state, answer.text, answer.n_prompt_tokens, answer.n_completion_tokens) == (
        AnswerState.OK,
        "so",
        7,
        3,
    )


@pytest.mark.parametrize(
    "thinking", [{"message": {"content": "so", "thinking": "hm"}}, {"message": {"content": "<think>hm</think>so"}}]
)
def test_ollama_thoughts_are_separated_from_the_answer(thinking: dict[str, Any]) -> None:
    answer, _ = ask(reply(**thinking))
    assert (answer.text, answer.thoughts, answer.n_reasoning_tokens) == ("so", "hm", None)


def test_ollama_reply_cut_by_length_is_truncated() -> None:
    answer, _ = ask(reply("so f", "length"))
    assert (answer.state, answer.text) == (AnswerState.TRUNCATED, "so f")


def test_ollama_prompt_that_fills_the_window_is_an_error() -> None:
    answer, _ = ask(reply(prompt_eval_count=2000), num_ctx=2000)
    assert (answer.state, answer.error_class) == (AnswerState.ERROR, ErrorClass.TOO_LONG)
    assert "the prompt fills num_ctx=2000" in answer.error


@pytest.mark.parametrize(
    ("answered", "error_class"),
    [
        (Reply(status=404, body=b'{"error": "model \'m:1b\' not found"}'), ErrorClass.UNKNOWN_MODEL),
        (Reply(status=400, body=b'{"error": "the input length exceeds the context length"}'), ErrorClass.TOO_LONG),
        (Reply(body=b'{"message": null}'), ErrorClass.MALFORMED),
    ],
    ids=str,
)
def test_ollama_failures_have_an_error_class(answered: Reply, error_class: ErrorClass) -> None:
    answer, _ = ask(answered)
    assert (answer.state, answer.error_class) == (AnswerState.ERROR, error_class)


@contextmanager
def tags(*models: dict[str, str]) -> Iterator[str]:
    """A server that lists its models."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/api/tags" else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"models": models}).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class TestDigest:
    @pytest.mark.parametrize("digest", ["845dbda0ea48", "sha256:845dbda0ea48ed"])
    def test_matching_ollama_digest_passes_the_check(self, digest: str) -> None:
        with tags({"name": "m:1b", "digest": "845dbda0ea48ed749"}) as url:
            assert client(url, digest=digest).check() == []

    def test_different_ollama_digest_is_rejected(self) -> None:
        with tags({"name": "m:1b", "digest": "ffff"}) as url:
            (problem,) = client(url, digest="845dbda0ea48").check()
        assert problem.startswith("digest: got '845dbda0ea48', but 'm:1b' is ffff on the server")

    def test_missing_ollama_model_suggests_the_pull_command(self) -> None:
        with tags() as url:
            assert client(url, digest="84").check() == [
                "model: Ollama has no 'm:1b'. Download it with: ollama pull m:1b"
            ]

    def test_missing_ollama_server_suggests_the_serve_command(self) -> None:
        with tags() as url:
            pass
        (problem,) = client(url, digest="84").check()
        assert "Start `ollama serve`" in problem


def test_ollama_window_must_exceed_the_answer_limit() -> None:
    (problem,) = OllamaChat("m", num_ctx=1024).check()
    assert problem.startswith("num_ctx: got 1024, expected more than max_new_tokens=1024")
