"""Pipelines behind an address, including addresses that misbehave."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.pipelines.http import HttpPipeline
from components.pipelines.pipeline_reply import parse_stored_replies
from components.records import Answer, AnswerState, ErrorClass, Turn
from tests.contracts.pipeline_contract import PipelineContract, make_request
from tests.llms.chat_server import ChatServer, Reply, chat_server


def body(value: Any) -> Reply:
    return Reply(body=json.dumps(value).encode())


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request, attempt: body({"answer": f"about {request['question']}"})) as server:
        yield server


def pipeline(server: ChatServer, **fields: Any) -> HttpPipeline:
    fields = {"max_retries": 0, "backoff_s": 0.0, "timeout_s": 20.0, "parameters": {}, **fields}
    return HttpPipeline(f"{server.url}/answer", "1", **fields)


class TestHttpPipeline(PipelineContract):
    @pytest.fixture(autouse=True)
    def _component(self, server: ChatServer) -> None:
        self.component = pipeline(server)


def answer_to(component: HttpPipeline, question: str = "Who?") -> Answer:
    (answer,) = component.generate([make_request(question)])
    return answer


def test_http_pipeline_sends_question_history_and_parameters(server: ChatServer) -> None:
    list(pipeline(server, parameters={"top": 3}).generate([make_request("And?", Turn("Who?", "I."))]))
    history = [{"question": "Who?", "answer": "I."}]
    assert server.requests == [{"question": "And?", "history": history, "parameters": {"top": 3}}]


def test_http_pipeline_sends_the_key_and_never_shows_it(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_KEY", "k-1234567890abcdef")
    server.script = lambda request, attempt: Reply(status=401, body=b'{"error": "k-1234567890abcdef is no key"}')
    answer = answer_to(pipeline(server, api_key_env="RAG_KEY"))
    assert server.keys == ["Bearer k-1234567890abcdef"]
    assert answer.error_class is ErrorClass.ACCESS
    assert "k-1234567890abcdef" not in answer.error


@pytest.mark.parametrize(
    ("reply", "error_class", "part"),
    [
        (Reply(body=b""), ErrorClass.MALFORMED, "nothing"),
        (Reply(body=b"<html>"), ErrorClass.MALFORMED, "<html>"),
        (body(None), ErrorClass.MALFORMED, "the reply: got None"),
        (body([1]), ErrorClass.MALFORMED, "the reply: got [1]"),
        (body({"result": "x"}), ErrorClass.MALFORMED, "answer: got None"),
        (body({"answer": 7}), ErrorClass.MALFORMED, "answer: got 7"),
        (body({"answer": "x" * 2_000_000}), ErrorClass.MALFORMED, "answer: has 2,000,000 characters"),
        (body({"answer": "x", "passages": [{"id": "d"}]}), ErrorClass.MALFORMED, "passages[0].text: got None"),
        (body({"answer": "x", "seconds": -3}), ErrorClass.MALFORMED, "seconds: got -3"),
        (Reply(body=b'{"answer": "x"' + b" " * (65 << 20) + b"}"), ErrorClass.MALFORMED, "MiB"),
        (Reply(body=b"[" * 100_000), ErrorClass.MALFORMED, ""),
        (Reply(status=500, body=b"{}"), ErrorClass.SERVER, "500"),
        (Reply(status=302, headers={"location": "http://127.0.0.1:1/"}), ErrorClass.CONNECTION, "302"),
        (Reply(body=b'{"answer": "cut"}', cut=True), ErrorClass.CONNECTION, ""),
    ],
)
def test_malformed_pipeline_reply_is_a_failed_request(
    server: ChatServer, reply: Reply, error_class: ErrorClass, part: str
) -> None:
    server.script = lambda request, attempt: reply
    answer = answer_to(pipeline(server))
    assert (answer.state, answer.text) == (AnswerState.ERROR, "")
    assert part in answer.error
    assert answer.error_class is error_class


def test_http_pipeline_timeout_is_a_failed_request(server: ChatServer) -> None:
    server.script = lambda request, attempt: Reply(delay_s=3.0, body=b'"late"')
    assert answer_to(pipeline(server, timeout_s=0.2)).error_class is ErrorClass.TIMEOUT


def test_malformed_http_pipeline_reply_is_requested_again(server: ChatServer) -> None:
    server.script = lambda request, attempt: body(7) if len(server.requests) < 3 else body("third")
    (reply,) = parse_stored_replies([answer_to(pipeline(server, max_retries=5))])
    assert reply is not None
    assert reply.answer == "third"


def test_missing_pipeline_server_error_suggests_starting_it() -> None:
    answer = answer_to(HttpPipeline("http://127.0.0.1:9/answer", "1", {}, max_retries=0))
    assert "start the pipeline, or give its address as pipeline.url" in answer.error


class TestChecks:
    def test_http_pipeline_requires_address_and_revision(self) -> None:
        found = HttpPipeline("", " ", {}).check()
        assert [each.split(":")[0] for each in found] == ["url", "revision"]

    @pytest.mark.parametrize(
        "url", ["ftp://host/answer", "http://user:hunter2@host/answer", "http://host/a?key=x", "host"]
    )
    def test_http_pipeline_rejects_unusable_addresses_without_their_secret(self, url: str) -> None:
        (found,) = HttpPipeline(url, "1", {}).check()
        assert found.startswith("url: ")
        assert "hunter2" not in found
