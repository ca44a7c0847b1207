"""The chat client against a real server that misbehaves in every way that servers do."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from components.llms import endings
from components.llms.openai_chat import JsonMode, LengthParameter, OpenAIChat
from components.records import Answer, AnswerState, ErrorClass, Message, Request
from runner.engine.identity import describe
from tests.contracts.llm_contract import LLMContract, request
from tests.llms.chat_server import ChatServer, Reply, Script, chat_server, last_message

REPOSITORY = Path(__file__).resolve().parents[2]
ALIBABA_LIMIT = json.dumps(
    {
        "error": {
            "code": "insufficient_quota",
            "message": "You exceeded your current quota. For details, see: https://help.example/error-code#token-limit",
        }
    }
).encode()
SCHEMA = {"type": "object", "properties": {"grade": {"enum": [0, 1]}}}

_HALF = b'{"choices":[{"message":{"content":"half"},"finish_reason":"stop"%s}]%s}'
"""A completion with room for errors beside its text."""


def client(server: ChatServer, **fields: Any) -> OpenAIChat:
    settings = {"base_url": server.url, "api_key_env": "", "backoff_s": 0.01, "max_retries": 2, "timeout_s": 5.0}
    return OpenAIChat("a-model", **{**settings, **fields})


def ask(script: Script, *questions: str, **fields: Any) -> tuple[dict[str, Answer], ChatServer]:
    """Return the answers by question, and the requests that the server received."""
    requests = [Request(q, (Message("user", q),), request(q).sample, ()) for q in questions or ("q",)]
    with chat_server(script) as server:
        answers = {answer.request_id: answer for answer in client(server, **fields).generate(requests)}
    assert set(answers) == {r.id for r in requests}
    return answers, server


class TestContract(LLMContract):
    @pytest.fixture(autouse=True)
    def server(self) -> Iterator[None]:
        with chat_server(lambda asked, _: Reply("" if "空白" in last_message(asked) else "好")) as server:
            self.component = client(server)
            yield

    component = OpenAIChat("a-model", api_key_env="")


class TestAnswers:
    def test_openai_reply_text_usage_and_latency_are_read(self) -> None:
        answers, _ = ask(lambda *_: Reply(" four "))
        answer = answers["q"]
        assert (answer.state, answer.text) == (AnswerState.OK, "four")
        assert (answer.n_prompt_tokens, answer.n_completion_tokens) == (7, 6)
        assert answer.latency_s > 0

    def test_openai_request_contains_parameters_and_messages(self) -> None:
        _, server = ask(lambda *_: Reply("x"), "Who?", temperature=0.5, seed=3, max_new_tokens=9)
        (sent,) = server.requests
        assert sent["messages"] == [{"role": "user", "content": "Who?"}]
        assert (sent["model"], sent["temperature"], sent["seed"], sent["max_tokens"]) == ("a-model", 0.5, 3, 9)

    def test_openai_parameters_set_to_none_are_not_sent(self) -> None:
        _, server = ask(
            lambda *_: Reply("x"), temperature=None, top_p=None, length_parameter=LengthParameter.MAX_COMPLETION_TOKENS
        )
        (sent,) = server.requests
        assert sent.keys() == {"model", "messages", "max_completion_tokens"}

    def test_openai_stop_words_and_extra_body_are_sent(self) -> None:
        extra = '{"chat_template_kwargs": {"enable_thinking": false}}'
        _, server = ask(lambda *_: Reply("x"), stop=("\n\n", "Q:"), extra_body=extra)
        (sent,) = server.requests
        assert (sent["stop"], sent["chat_template_kwargs"]) == (["\n\n", "Q:"], {"enable_thinking": False})

    @pytest.mark.parametrize(
        "message",
        [
            {"content": "<think>hm</think>\nso"},
            {"content": "so", "reasoning_content": "hm"},
            {"content": "so", "reasoning": " hm "},
            {"content": "hm</think>so"},
        ],
        ids=str,
    )
    def test_openai_thoughts_are_separated_and_counted(self, message: dict[str, str]) -> None:
        body = {
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}},
        }
        answers, _ = ask(lambda *_: Reply(body=json.dumps(body).encode()))
        answer = answers["q"]
        assert (answer.state, answer.text, answer.thoughts) == (AnswerState.OK, "so", "hm")
        assert (answer.n_completion_tokens, answer.n_reasoning_tokens) == (9, 5)

    def test_truncated_openai_thoughts_are_not_answer_text(self) -> None:
        answers, _ = ask(lambda *_: Reply("<think>first I", finish_reason="length"))
        answer = answers["q"]
        assert (answer.state, answer.text, answer.thoughts) == (AnswerState.TRUNCATED, "", "first I")

    def test_openai_gets_max_completion_tokens(self) -> None:
        sent = OpenAIChat("m", max_new_tokens=9)._parameters(request("q"))
        assert (sent.get("max_completion_tokens"), sent.get("max_tokens")) == (9, None)

    def test_latency_covers_only_the_successful_attempt(self) -> None:
        answers, _ = ask(lambda _, attempt: Reply("ok") if attempt == 2 else Reply(status=500, delay_s=0.5))
        assert 0 < answers["q"].latency_s < 0.4

    def test_openai_tokens_without_a_count_are_unknown(self) -> None:
        for usage in ("", ', "usage": {}', ', "usage": null', ', "usage": {"prompt_tokens": "7"}'):
            body = f'{{"choices": [{{"message": {{"content": "hi"}}}}]{usage}}}'.encode()
            answers, _ = ask(lambda *_, body=body: Reply(body=body))
            assert (answers["q"].text, answers["q"].n_prompt_tokens, answers["q"].n_completion_tokens) == (
                "hi",
                None,
                None,
            )

    @pytest.mark.parametrize("text", ["", " \n", None])
    def test_blank_openai_reply_is_empty(self, text: str | None) -> None:
        answers, _ = ask(lambda *_: Reply(text))
        assert answers["q"].state is AnswerState.EMPTY

    @pytest.mark.parametrize("reply", [Reply("x", finish_reason="content_filter"), Reply(None, refusal="I cannot")])
    def test_openai_refusals_have_the_refused_state(self, reply: Reply) -> None:
        answers, _ = ask(lambda *_: reply)
        assert (answers["q"].state, answers["q"].text) == (AnswerState.REFUSED, "")

    @pytest.mark.parametrize("text", ["so far", ""])
    @pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "model_length", "max_output_tokens"])
    def test_openai_text_cut_by_length_is_kept_as_truncated(self, text: str, reason: str) -> None:
        answers, _ = ask(lambda *_: Reply(text, finish_reason=reason))
        assert (answers["q"].state, answers["q"].text) == (AnswerState.TRUNCATED, text)

    def test_unknown_finish_reason_is_logged_once(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(endings, "_unknown", set())
        answers, _ = ask(lambda *_: Reply("so", finish_reason="Lunch"), "p", "q")
        assert {answer.state for answer in answers.values()} == {AnswerState.OK}
        assert caplog.messages == ["finish reason lunch is unknown; its answers count as complete"]

    @pytest.mark.parametrize("reason", ["stop", "STOP", "end_turn", "eos", "tool_calls", None])
    def test_known_finish_reason_is_not_logged(self, reason: str | None, caplog: pytest.LogCaptureFixture) -> None:
        answers, _ = ask(lambda *_: Reply("so", finish_reason=reason))
        assert (answers["q"].state, caplog.messages) == (AnswerState.OK, [])

    @pytest.mark.parametrize("reason", ["content_filter: RECITATION", "content_filter: PROHIBITED_CONTENT", "SAFETY"])
    @pytest.mark.parametrize("message", [None, {"role": "assistant"}, {"content": "so f"}], ids=str)
    def test_filtered_texts_of_gemini_are_refused(self, reason: str, message: dict[str, str] | None) -> None:
        choice = {"finish_reason": reason} | ({"message": message} if message else {})
        answers, server = ask(lambda *_: Reply(body=json.dumps({"choices": [choice]}).encode()))
        assert (answers["q"].state, answers["q"].text, len(server.requests)) == (AnswerState.REFUSED, "", 1)

    @pytest.mark.parametrize(
        "error",
        [
            {"code": "content_filter", "message": "The response was filtered", "innererror": {"code": "x"}},
            {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."},
            {"code": "invalid_request_error", "message": "Content Exists Risk"},
            {"code": "400", "message": "litellm.ContentPolicyViolationError: AzureException - filtered"},
            {"code": 400, "type": "content_filter", "message": "The request was rejected"},
            {"code": "Input.Rejected", "message": "Content violates usage guidelines."},
            {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"},
        ],
        ids=lambda error: str(error["code"]),
    )
    def test_prompt_that_the_filter_of_a_provider_refuses_is_refused(self, error: dict[str, Any]) -> None:
        answers, server = ask(lambda *_: Reply(status=400, body=json.dumps({"error": error}).encode()))
        assert (answers["q"].state, answers["q"].error, len(server.requests)) == (AnswerState.REFUSED, "", 1)

    @pytest.mark.parametrize(
        "error",
        [
            {"code": "unknown_parameter", "message": "Unknown parameter: 'content_filter'."},
            {"code": 400, "message": "Guardrail 'litellm_content_filter' not found"},
            {"code": "invalid_value", "message": "data_inspection_failed is no header"},
        ],
        ids=lambda error: str(error["code"]),
    )
    def test_error_that_only_mentions_a_filter_is_no_refusal(self, error: dict[str, Any]) -> None:
        answers, _ = ask(lambda *_: Reply(status=400, body=json.dumps({"error": error}).encode()))
        assert (answers["q"].state, answers["q"].error_class) == (AnswerState.ERROR, ErrorClass.BAD_REQUEST)

    def test_parts_of_mistral_are_separated_into_thoughts_and_text(self) -> None:
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm, "}, {"type": "text", "text": "2"}]}
        content = [thinking, {"type": "text", "text": "fo"}, {"type": "reference", "reference_ids": [1]}]
        message = {"content": [*content, {"type": "text", "text": "ur"}]}
        answers, _ = ask(lambda *_: Reply(body=json.dumps({"choices": [{"message": message}]}).encode()))
        assert (answers["q"].state, answers["q"].text, answers["q"].thoughts) == (AnswerState.OK, "four", "hm, 2")

    def test_thoughts_that_only_the_total_counts_are_completion_tokens(self) -> None:
        usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 59}
        body = json.dumps({"choices": [{"message": {"content": "so"}}], "usage": usage}).encode()
        answers, _ = ask(lambda *_: Reply(body=body))
        assert (answers["q"].n_prompt_tokens, answers["q"].n_completion_tokens) == (7, 52)
        assert answers["q"].n_reasoning_tokens == 50


def drawn(script: Script, n_draws: int, **fields: Any) -> tuple[dict[str, Answer], ChatServer]:
    """Return answers to draws of two questions, by question and draw, and the requests that the server received."""
    requests = [
        Request(f"{q}{draw}", (Message("user", q),), request(q).sample, (), draw=draw)
        for draw in range(n_draws)
        for q in "ab"
    ]
    with chat_server(script) as server:
        answers = list(client(server, **{"temperature": 1.0, **fields}).generate(requests))
    assert sorted(answer.request_id for answer in answers) == sorted(each.id for each in requests)
    return {answer.request_id: answer for answer in answers}, server


def several(asked: dict[str, Any], _: int) -> Reply:
    """Return the requested number of completions, each longer than the previous one."""
    texts = [last_message(asked) * length for length in range(1, asked.get("n", 1) + 1)]
    return Reply(texts[0], others=tuple(texts[1:]))


class TestDraws:
    def test_draws_of_one_answer_share_a_request(self) -> None:
        answers, server = drawn(several, 5, completions_per_request=3)
        assert sorted((last_message(asked), asked["n"]) for asked in server.requests) == [
            ("a", 2), ("a", 3), ("b", 2), ("b", 3),
        ]  # fmt: skip
        assert [answers[f"b{draw}"].text for draw in range(5)] == ["b", "bb", "bbb", "b", "bb"]

    def test_prompt_tokens_count_once_for_shared_draws(self) -> None:
        answers, server = drawn(several, 3, completions_per_request=3)
        assert len(server.requests) == 2
        counts = [(answers[f"a{draw}"].n_prompt_tokens, answers[f"a{draw}"].n_completion_tokens) for draw in range(3)]
        assert counts == [(7, 1), (0, 2), (0, 3)]

    def test_draws_without_counts_have_unknown_tokens(self) -> None:
        choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in "xy"]
        answers, _ = drawn(
            lambda *_: Reply(body=json.dumps({"choices": choices}).encode()), 2, completions_per_request=2
        )
        assert {answer.text for answer in answers.values()} == {"x", "y"}
        assert {answer.n_completion_tokens for answer in answers.values()} == {None}

    def test_missing_completions_are_requested_one_by_one(self, caplog: pytest.LogCaptureFixture) -> None:
        answers, server = drawn(lambda *_: Reply("one"), 4, completions_per_request=4)
        assert {answer.text for answer in answers.values()} == {"one"}
        assert sorted(asked.get("n", 1) for asked in server.requests) == [1] * 6 + [4] * 2
        (record,) = caplog.records
        assert "6 are requested one by one" in record.getMessage()

    def test_draws_of_one_request_fail_and_are_retried_together(self) -> None:
        answers, server = drawn(
            lambda asked, attempt: Reply(status=503) if attempt == 1 else several(asked, attempt),
            2,
            completions_per_request=2,
        )
        assert {answer.state for answer in answers.values()} == {AnswerState.OK}
        assert len(server.requests) == 4
        answers, _ = drawn(
            lambda asked, attempt: Reply(status=400) if last_message(asked) == "a" else several(asked, attempt),
            2,
            completions_per_request=2,
        )
        states = {name: answer.state for name, answer in answers.items()}
        assert states == {"a0": AnswerState.ERROR, "a1": AnswerState.ERROR, "b0": AnswerState.OK, "b1": AnswerState.OK}

    @pytest.mark.parametrize("choices", [[], [{"message": {"content": "x"}}, {"message": None}], {}])
    def test_malformed_completion_rejects_the_whole_reply(self, choices: object) -> None:
        answers, _ = drawn(
            lambda *_: Reply(body=json.dumps({"choices": choices}).encode()), 2, completions_per_request=2
        )
        assert {answer.error_class for answer in answers.values()} == {ErrorClass.MALFORMED}

    def test_draws_are_requested_one_by_one_by_default(self) -> None:
        _, server = drawn(several, 2, concurrency=1)
        assert [asked.get("n") for asked in server.requests] == [None] * 4
        assert [last_message(asked) for asked in server.requests] == ["a", "b", "a", "b"], "as they come"


class TestErrorClasses:
    @pytest.mark.parametrize(
        ("failure", "error_class"),
        [
            (Reply(status=429), ErrorClass.RATE_LIMIT),
            (Reply(status=429, body=b'{"error": {"code": "insufficient_quota"}}'), ErrorClass.QUOTA),
            (Reply(status=429, body=ALIBABA_LIMIT), ErrorClass.RATE_LIMIT),
            (Reply(status=402), ErrorClass.QUOTA),
            (Reply(status=401), ErrorClass.ACCESS),
            (Reply(status=403), ErrorClass.ACCESS),
            (Reply(status=404), ErrorClass.UNKNOWN_MODEL),
            (Reply(status=400, body=b'{"error": {"code": "context_length_exceeded"}}'), ErrorClass.TOO_LONG),
            (Reply(status=400, body=b'{"message": "maximum context length is 4096"}'), ErrorClass.TOO_LONG),
            (
                Reply(status=400, body=b'{"error": "`inputs` tokens + `max_new_tokens` must be <= 4096"}'),
                ErrorClass.TOO_LONG,
            ),
            (Reply(status=400, body=b'{"message": "Range of input length should be [1, 30720]"}'), ErrorClass.TOO_LONG),
            (Reply(status=400, body=b'{"error": {"message": "Budget has been exceeded! Cost: 2"}}'), ErrorClass.QUOTA),
            (Reply(status=413), ErrorClass.TOO_LONG),
            (Reply(status=400), ErrorClass.BAD_REQUEST),
            (Reply(status=422), ErrorClass.BAD_REQUEST),
            (Reply(status=500), ErrorClass.SERVER),
            (Reply(status=408), ErrorClass.TIMEOUT),
            (Reply(delay_s=0.5), ErrorClass.TIMEOUT),
            (Reply("x" * 500, cut=True), ErrorClass.CONNECTION),
            (Reply(body=b"<html>"), ErrorClass.MALFORMED),
            (Reply("half", finish_reason="error"), ErrorClass.MALFORMED),
            (Reply(body=_HALF % (b',"error":{"code":502}', b"")), ErrorClass.MALFORMED),
            (Reply(body=_HALF % (b"", b',"error":{"code":502}')), ErrorClass.MALFORMED),
            (Reply("half", finish_reason="abort"), ErrorClass.MALFORMED),
            (Reply("half", finish_reason="canceled"), ErrorClass.MALFORMED),
            (Reply("half", finish_reason="timeout"), ErrorClass.MALFORMED),
            (Reply("half", finish_reason="insufficient_system_resource"), ErrorClass.MALFORMED),
        ],
        ids=lambda value: value.value if isinstance(value, ErrorClass) else str(value.status),
    )
    def test_openai_failures_have_an_error_class(self, failure: Reply, error_class: ErrorClass) -> None:
        answers, _ = ask(lambda *_: failure, max_retries=0, timeout_s=0.3)
        assert (answers["q"].state, answers["q"].error_class) == (AnswerState.ERROR, error_class)

    def test_missing_openai_server_has_the_connection_error_class(self) -> None:
        with chat_server(lambda *_: Reply("x")) as server:
            model = client(server, max_retries=0)
        (answer,) = model.generate([request("q")])
        assert answer.error_class is ErrorClass.CONNECTION

    def test_refused_openai_connection_is_reported_without_retries(self) -> None:
        with chat_server(lambda *_: Reply("x")) as server:
            model = client(server, max_retries=5, backoff_s=1.0)
        started = time.monotonic()
        (answer,) = model.generate([request("q")])
        assert time.monotonic() - started < 1
        assert (
            "(attempt 1 of 6); no server listens there: start the server, or give its address as base_url"
            in answer.error
        )

    def test_unsent_requests_inherit_the_class_of_the_failure(self) -> None:
        answers, server = ask(lambda *_: Reply(status=401), *map(str, range(20)), concurrency=1)
        assert len(server.requests) < 20
        assert {answer.error_class for answer in answers.values()} == {ErrorClass.ACCESS}

    def test_text_that_cannot_be_encoded_has_error_class_other(self) -> None:
        answers, _ = ask(lambda *_: Reply("x"), "\ud800")
        assert answers["\ud800"].error_class is ErrorClass.OTHER


class TestRetries:
    @pytest.mark.parametrize(
        "failure",
        [
            Reply(status=424),
            Reply(status=429), Reply(status=500), Reply(status=503), Reply(status=408), Reply(cut=True, text="x" * 500),
            Reply(body=b'{"not json'), Reply(body=b"<html>"), Reply(body=b'{"id": "x", "choices": []}'),
            Reply("half an ans", finish_reason="error"),
        ],
        ids=lambda reply: f"{reply.status} cut={reply.cut} {reply.finish_reason} {reply.body!r}",
    )  # fmt: skip
    def test_openai_requests_are_retried_after_temporary_failures(self, failure: Reply) -> None:
        answers, server = ask(lambda _, attempt: Reply("ok") if attempt == 3 else failure)
        assert (answers["q"].text, len(server.requests)) == ("ok", 3)

    @pytest.mark.parametrize(
        "body",
        [
            b"", b"null", b"[]", b'"x"', b"{", b"<html>", b"\xff\xfe{", b'{"choices": null}', b'{"choices": {"a": 1}}',
            b'{"choices": [{"text": "hi"}]}', b'{"choices": [{"message": "hi"}]}',
            b'{"choices": [{"message": {"content": [1]}}]}',
        ],
    )  # fmt: skip
    def test_non_completion_body_is_retried_and_then_an_error(self, body: bytes) -> None:
        answers, server = ask(lambda *_: Reply(body=body))
        assert len(server.requests) == 3
        assert "unexpected reply: " in answers["q"].error

    def test_error_with_status_200_quotes_the_server(self) -> None:
        answers, _ = ask(lambda *_: Reply(body=b'{"error": {"message": "overloaded"}}'))
        assert "overloaded" in answers["q"].error

    def test_request_without_a_reply_is_sent_again_after_the_timeout(self) -> None:
        answers, _ = ask(lambda _, attempt: Reply("ok", delay_s=1.0 if attempt == 1 else 0), timeout_s=0.2)
        assert answers["q"].text == "ok"

    def test_failure_of_the_last_attempt_is_reported_with_its_reason(self) -> None:
        answers, server = ask(lambda *_: Reply(status=500, body=b'{"error": {"message": "out of memory"}}'))
        answer = answers["q"]
        assert (answer.state, answer.text, len(server.requests)) == (AnswerState.ERROR, "", 3)
        assert "a-model at 127.0.0.1" in answer.error
        assert "HTTP 500: out of memory (attempt 3 of 3)" in answer.error

    def test_timeout_error_names_the_setting(self) -> None:
        answers, _ = ask(lambda *_: Reply("x", delay_s=0.6), timeout_s=0.1, max_retries=0)
        assert "no reply within timeout_s (attempt 1 of 1)" in answers["q"].error

    def test_bad_request_is_not_retried(self) -> None:
        answers, server = ask(lambda *_: Reply(status=400, body=b'{"error": {"message": "context too long"}}'))
        assert "HTTP 400: context too long (attempt 1 of 3)" in answers["q"].error
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (b'{"error": "plain"}', "plain"), (b'{"detail": "Not Found"}', "Not Found"), (b'{"message": "m"}', "m"),
            (b"<h1>\nbad gateway</h1>", "<h1> bad gateway</h1>"), (b"", "empty reply"), (b"x" * 999, "x" * 290),
        ],
    )  # fmt: skip
    def test_server_error_message_becomes_one_line(self, body: bytes, said: str) -> None:
        answers, _ = ask(lambda *_: Reply(status=400, body=body))
        assert f"HTTP 400: {said} (attempt 1 of 3)" in answers["q"].error

    def test_unencodable_text_fails_only_its_own_request(self) -> None:
        answers, server = ask(lambda *_: Reply("x"), "\ud800", "q")
        assert "UnicodeEncodeError" in answers["\ud800"].error
        assert (answers["q"].text, len(server.requests)) == ("x", 1)

    @pytest.mark.parametrize("as_date", [False, True])
    def test_retry_after_header_delays_the_retry(self, as_date: bool) -> None:
        def script(_: object, attempt: int) -> Reply:
            when = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True) if as_date else "1"
            return Reply("ok") if attempt == 2 else Reply(status=429, headers={"Retry-After": when})

        started = time.monotonic()
        answers, _ = ask(script, backoff_s=0.0)
        assert answers["q"].text == "ok"
        assert 0.9 <= time.monotonic() - started < 4

    def test_delay_in_the_body_of_an_error_delays_the_retry(self) -> None:
        info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.3s"}
        body = json.dumps([{"error": {"code": 429, "message": "quota", "details": [info]}}]).encode()
        started = time.monotonic()
        answers, _ = ask(lambda _, attempt: Reply("ok") if attempt == 2 else Reply(status=429, body=body))
        assert answers["q"].text == "ok"
        assert time.monotonic() - started > 0.3

    @pytest.mark.parametrize("when", ["0", "-5", "nan", "Sat, 01 Jan 2000 00:00:00 GMT", "soon"])
    def test_retry_after_without_a_wait_falls_back_to_the_usual_backoff(self, when: str) -> None:
        def script(_: object, attempt: int) -> Reply:
            return Reply("ok") if attempt == 2 else Reply(status=429, headers={"Retry-After": when})

        started = time.monotonic()
        answers, _ = ask(script, backoff_s=0.4)
        assert answers["q"].text == "ok"
        assert 0.3 <= time.monotonic() - started < 4


class TestManyRequests:
    def test_concurrent_requests_are_limited_by_concurrency(self) -> None:
        answers, server = ask(lambda *_: Reply("x", delay_s=0.05), *map(str, range(12)), concurrency=3)
        assert len(answers) == 12
        assert server.max_at_once == 3

    def test_answers_are_yielded_as_they_arrive(self) -> None:
        script = lambda asked, _: Reply("x", delay_s=1.0 if last_message(asked) == "slow" else 0)  # noqa: E731
        requests = [request("slow"), request("quick")]
        with chat_server(script) as server:
            answers = client(server).generate(requests)
            started = time.monotonic()
            assert next(answers).request_id == requests[1].id
            assert time.monotonic() - started < 0.8
            assert next(answers).request_id == requests[0].id

    def test_closing_the_iterator_returns_immediately_and_stops_requests(self) -> None:
        with chat_server(lambda *_: Reply("x", delay_s=0.1)) as server:
            answers = client(server, concurrency=2).generate([request(str(i)) for i in range(50)])
            next(answers)
            started = time.monotonic()
            answers.close()  # type: ignore[attr-defined]
            assert time.monotonic() - started < 1
            time.sleep(0.4)
            assert len(server.requests) <= 6

    @pytest.mark.parametrize("suspended", [False, True])
    def test_interrupted_program_exits_immediately(self, tmp_path: Path, *, suspended: bool) -> None:
        over = threading.Event()

        def script(asked: dict[str, Any], _: int) -> Reply:
            if last_message(asked) == "slow":
                over.wait(300)
            return Reply("x")

        with chat_server(script) as server:
            program = f"""
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which may be ignored, as in the background
from components.llms.openai_chat import OpenAIChat
from tests.contracts.llm_contract import request
model = OpenAIChat("m", base_url={server.url!r}, api_key_env="", backoff_s=30)
answers = model.generate([request("quick"), request("slow")])
for _ in answers:
    print("first", flush=True)
    time.sleep({300 if suspended else 0})
"""
            environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
            running = subprocess.Popen(
                [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
            )
            with running:
                try:
                    assert running.stdout is not None
                    assert running.stdout.readline() == b"first\n"
                    time.sleep(0.3)
                    running.send_signal(signal.SIGINT)
                    _, errors = running.communicate(timeout=60)  # a busy machine takes seconds to end a process
                finally:
                    running.kill()
                    over.set()
        assert b"KeyboardInterrupt" in errors

    @pytest.mark.parametrize(
        ("status", "code"), [(401, ""), (402, ""), (403, ""), (404, ""), (429, "insufficient_quota")]
    )
    def test_failure_shared_by_all_requests_stops_the_rest(self, status: int, code: str) -> None:
        body = f'{{"error": {{"message": "no such key", "code": "{code}"}}}}'.encode()
        answers, server = ask(lambda *_: Reply(status=status, body=body), *map(str, range(40)), concurrency=2)
        assert {answer.state for answer in answers.values()} == {AnswerState.ERROR}
        assert len(server.requests) <= 4
        assert any(answer.error.startswith("not sent: ") for answer in answers.values())
        assert all("no such key" in answer.error for answer in answers.values())

    def test_refusal_after_a_success_does_not_stop_the_rest(self) -> None:
        script = lambda asked, _: Reply(status=403) if last_message(asked) == "5" else Reply("x")  # noqa: E731
        answers, _ = ask(script, *map(str, range(20)), concurrency=1)
        assert [name for name, answer in answers.items() if answer.state is AnswerState.ERROR] == ["5"]

    def test_unreachable_server_ends_all_requests_within_seconds(self) -> None:
        with chat_server(lambda *_: Reply("x")) as server:
            model = client(server, concurrency=2, max_retries=1)
        started = time.monotonic()
        answers = list(model.generate([request(str(i)) for i in range(200)]))
        assert len(answers) == 200
        assert time.monotonic() - started < 5
        assert all("no connection" in answer.error for answer in answers)

    def test_server_that_always_fails_gets_a_bounded_number_of_requests(self) -> None:
        answers, server = ask(lambda *_: Reply(status=500), *map(str, range(60)), concurrency=2, max_retries=0)
        assert {answer.state for answer in answers.values()} == {AnswerState.ERROR}
        assert 10 <= len(server.requests) <= 12

    def test_access_failure_does_not_wait_for_a_rate_limited_request(self) -> None:
        def script(asked: dict[str, Any], _: int) -> Reply:
            if last_message(asked) == "limited":
                return Reply(status=429, headers={"Retry-After": "60"})
            return Reply(status=401, delay_s=0.2)

        started = time.monotonic()
        answers, _ = ask(script, "limited", "refused")
        assert time.monotonic() - started < 5
        assert answers["limited"].error.startswith("not sent again: ")

    @pytest.mark.parametrize("failure", [Reply(cut=True), Reply(delay_s=0.5), Reply(status=500)])
    def test_request_that_always_fails_does_not_stop_the_others(self, failure: Reply) -> None:
        script = lambda asked, _: failure if last_message(asked) == "0" else Reply("x")  # noqa: E731
        answers, _ = ask(script, *map(str, range(5)), concurrency=1, timeout_s=0.25, max_retries=1)
        assert [name for name, answer in answers.items() if answer.state is AnswerState.ERROR] == ["0"]

    def test_individual_failures_do_not_stop_the_others(self) -> None:
        script = lambda asked, _: Reply(status=400) if int(last_message(asked)) % 2 else Reply("x")  # noqa: E731
        answers, _ = ask(script, *map(str, range(20)))
        assert [answers[str(i)].state for i in (0, 1)] == [AnswerState.OK, AnswerState.ERROR]
        assert sum(answer.state is AnswerState.OK for answer in answers.values()) == 10


class TestJson:
    @pytest.mark.parametrize(
        ("mode", "expected"),
        [
            (JsonMode.JSON_SCHEMA, {"response_format": {
                "type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}}),
            (JsonMode.JSON_OBJECT, {"response_format": {"type": "json_object"}}),
            (JsonMode.GUIDED_JSON, {"guided_json": SCHEMA}),
            (JsonMode.NONE, {}),
        ],
    )  # fmt: skip
    def test_reply_schema_is_sent_in_the_configured_json_mode(self, mode: JsonMode, expected: dict[str, Any]) -> None:
        asked = Request("q", (Message("user", "q"),), request("q").sample, (), json_schema=SCHEMA)
        with chat_server(lambda *_: Reply("{}")) as server:
            list(client(server, json_mode=mode).generate([asked]))
        (sent,) = server.requests
        assert {name: sent.get(name) for name in ("response_format", "guided_json") if name in sent} == expected

    def test_request_without_a_schema_has_no_response_format(self) -> None:
        _, server = ask(lambda *_: Reply("x"))
        assert "response_format" not in server.requests[0]


class TestKey:
    def test_openai_key_appears_only_in_the_request(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("A_KEY", "sk-very-secret\n")
        caplog.set_level(logging.DEBUG)
        refusal = b'{"error": {"message": "' + b"x" * 270 + b'sk-very-secret is no key"}}'
        answers, server = ask(lambda *_: Reply(status=401, body=refusal), api_key_env="A_KEY")
        assert server.keys == ["Bearer sk-very-secret"]
        for shown in (answers["q"].error, caplog.text, repr(OpenAIChat("m", api_key_env="A_KEY"))):
            assert "very" not in shown
        assert "xx***" in answers["q"].error

    def test_openai_key_ignores_the_base_url_of_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example/v1")
        assert OpenAIChat("m").server._connection().base_url == "https://api.openai.com/v1"

    def test_openai_key_with_invalid_characters_is_rejected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for key in ("sk-sécret", "sk-\nsecret"):
            monkeypatch.setenv("A_KEY", key)
            (problem,) = OpenAIChat("m", api_key_env="A_KEY").check()
            assert problem.startswith("api_key_env: the key in A_KEY contains characters")
            assert "cret" not in problem

    def test_unset_openai_key_is_rejected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("A_KEY", raising=False)
        (problem,) = OpenAIChat("m", api_key_env="A_KEY").check()
        assert problem.startswith("api_key_env: the environment variable A_KEY is not set. Set it")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"model": " "}, "model: is empty"),
        ({"base_url": "localhost:8000"}, "base_url: got 'localhost:8000'"),
        ({"base_url": "http://"}, "base_url: got 'http://'"),
        ({"base_url": "http://[::1"}, "base_url: got 'http://[::1'"),
        ({"base_url": "http://host:port/v1"}, "base_url: got 'http://host:port/v1'"),
        ({"base_url": "http://me:secret@host/v1"}, "base_url: contains a user name or password"),
        ({"base_url": "http://host/v1?key=secret"}, 'base_url: has a part after "?" or "#"'),
        ({"base_url": "http://host/v1#secret"}, 'base_url: has a part after "?" or "#"'),
        ({"temperature": -1.0}, "temperature: got -1.0"),
        ({"temperature": float("nan")}, "temperature: got nan"),
        ({"top_p": 0.0}, "top_p: got 0.0"),
        ({"max_new_tokens": 0}, "max_new_tokens: got 0"),
        ({"stop": ("",)}, "stop: contains an empty string"),
        ({"extra_body": "{"}, "extra_body: got '{', expected a JSON object"),
        ({"extra_body": "[1]"}, "extra_body: got '[1]', expected a JSON object"),
        ({"extra_body": '{"seed": 1}'}, "extra_body: contains ['seed'], which other fields set"),
        ({"timeout_s": 0.0}, "timeout_s: got 0.0"),
        ({"max_retries": -1}, "max_retries: got -1"),
        ({"concurrency": 0}, "concurrency: got 0"),
        ({"completions_per_request": 0}, "completions_per_request: got 0"),
        ({"completions_per_request": 2, "seed": 7}, "completions_per_request: got 2 with seed=7"),
    ],
)
def test_rejected_settings_of_openai_chat(fields: dict[str, Any], problem: str) -> None:
    (found,) = OpenAIChat(**{"model": "m", "api_key_env": "", **fields}).check()
    assert found.startswith(problem)
    assert "secret" not in found


def test_openai_identity_excludes_address_and_rate_limits() -> None:
    described = describe(OpenAIChat("m"))
    same = {
        "base_url": "http://elsewhere/v1", "api_key_env": "OTHER", "concurrency": 99, "timeout_s": 1.0,
        "max_retries": 0, "backoff_s": 9.0, "max_requests_per_minute": 1, "max_tokens_per_minute": 1,
        "length_parameter": LengthParameter.MAX_TOKENS, "completions_per_request": 4,
    }  # fmt: skip
    other = {
        "model": "n", "temperature": 0.5, "top_p": 0.5, "max_new_tokens": 9, "stop": ("x",), "seed": 1,
        "json_mode": JsonMode.NONE, "extra_body": '{"a": 1}',
    }  # fmt: skip
    assert same.keys() | other.keys() == {field.name for field in fields(OpenAIChat)}
    assert describe(OpenAIChat(**{"model": "m", **same})) == described
    for name, value in other.items():
        assert describe(OpenAIChat(**{"model": "m", name: value})) != described, name
