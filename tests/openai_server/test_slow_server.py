"""A server that is too slow for as many requests as it gets: fewer are sent, and the log says why nothing comes."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import pytest

from components.errors import BudgetReached
from components.llms.openai_chat import OpenAIChat
from components.openai_server.breaker import Breaker
from components.openai_server.limiter import ProcessLimiter, use_limiter
from components.openai_server.retry_report import RetryReport
from components.openai_server.window import Window
from components.records import Answer, AnswerState, ErrorClass, Message, Request
from runner.engine.spending import Budget, SharedLimiter
from tests.contracts.llm_contract import request
from tests.llms.chat_server import ChatServer, Reply, chat_server

SERVES = 2
TIMEOUT_S = 0.6


@contextmanager
def slow_server() -> Iterator[ChatServer]:
    """Answers in 0.1 s while it has `SERVES` requests at most; with more it answers none of them within `TIMEOUT_S`."""
    at_once, lock = 0, threading.Lock()

    def script(asked: dict[str, Any], attempt: int) -> Reply:
        nonlocal at_once
        with lock:
            at_once += 1
        try:
            ready_at, begun = time.monotonic() + 0.1, time.monotonic()
            while time.monotonic() < ready_at:
                time.sleep(0.01)
                if at_once > SERVES:
                    ready_at = time.monotonic() + 0.1
                if time.monotonic() - begun > 1.0 * TIMEOUT_S:  # the client disconnected
                    break
            return Reply("so")
        finally:
            with lock:
                at_once -= 1

    with chat_server(script) as server:
        yield server


def ask(server: ChatServer, n: int, **fields: Any) -> list[Answer]:
    settings = {"concurrency": 8, "timeout_s": TIMEOUT_S, "max_retries": 5, "backoff_s": 0.05, **fields}
    llm = OpenAIChat("m", base_url=server.url, api_key_env="", **settings)
    sample = request("q").sample
    return list(llm.generate([Request(str(i), (Message("user", str(i)),), sample, ()) for i in range(n)]))


def test_reduced_concurrency_gets_all_answers_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, states = [], []
    for is_limited in (True, False):
        if not is_limited:
            monkeypatch.setattr(Window, "record_timeout", lambda *_: None)
        started = time.monotonic()
        with slow_server() as server:
            states.append([answer.state for answer in ask(server, 24)])
        seconds.append(time.monotonic() - started)
    assert states[0] == [AnswerState.OK] * 24
    assert states[1].count(AnswerState.OK) < 24
    assert seconds[0] < seconds[1]


def test_exhausted_budget_ends_the_wait_for_a_retry(tmp_path: Any) -> None:
    """The request that waits could not be sent at the end of its wait either."""
    budget = SharedLimiter(tmp_path, tmp_path / "spent", Budget(max_requests=3))

    def script(asked: dict[str, Any], attempt: int) -> Reply:
        return Reply(status=503) if asked["messages"][0]["content"] == "0" else Reply("so")

    with chat_server(script) as server, use_limiter(budget):
        started = time.monotonic()
        with pytest.raises(BudgetReached):
            ask(server, 8, concurrency=2, backoff_s=60.0)
        assert time.monotonic() - started < 20.0
    assert budget.spent.n_requests == 3


def test_timeouts_are_learnt_once_per_process(tmp_path: Any) -> None:
    """Calls to one endpoint share what they learn about timeouts, as they share that a server is down."""
    with slow_server() as server, use_limiter(SharedLimiter(tmp_path)):
        ask(server, 8)
        n_before = len(server.requests)
        assert {answer.state for answer in ask(server, 8)} == {AnswerState.OK}
        assert len(server.requests) - n_before < 8 + 6, "not all eight time out again"


def test_timeouts_are_reported_immediately_with_helpful_settings(caplog: pytest.LogCaptureFixture) -> None:
    with slow_server() as server:
        ask(server, 8)
    (first, *others) = [record.getMessage() for record in caplog.records]
    assert first.startswith("m at 127.0.0.1:")
    assert "no reply within timeout_s (attempt 1 of 6, timeout_s=0.6); retrying" in first
    assert "It now receives at most 4 concurrent requests instead of concurrency=8" in first
    assert "raise timeout_s of the model (llm, judge.llm, ...), or lower its concurrency" in first
    assert not others, "once a minute"


@pytest.mark.parametrize(("retry_after", "said"), [("60", "; retrying in 60 s. "), ("0", "; retrying. ")])
def test_long_retry_wait_of_the_server_is_reported(
    retry_after: str, said: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_wait(self: Breaker, seconds: float) -> None:
        pass

    def script(asked: dict[str, Any], attempt: int) -> Reply:
        return Reply("so") if attempt == 2 else Reply(status=429, headers={"Retry-After": retry_after})

    monkeypatch.setattr(Breaker, "wait", no_wait)
    monkeypatch.setattr(ProcessLimiter, "hold", lambda self, account, seconds: None)
    with chat_server(script) as server:
        (answer,) = ask(server, 1, timeout_s=20.0)
    assert answer.text == "so"
    (record,) = caplog.records
    assert said in record.getMessage()


class TestReport:
    def test_retry_report_names_the_first_then_counts_per_minute(self, caplog: pytest.LogCaptureFixture) -> None:
        now = 1000.0
        report = RetryReport(lambda: now)
        for seconds in range(130):
            now = 1000.0 + seconds
            kind = ErrorClass.RATE_LIMIT if seconds % 3 else ErrorClass.TIMEOUT
            report.record_retry("m at host", "why; asking again", kind, "the model", "")
            report.record_answer()
        lines = [record.getMessage() for record in caplog.records]
        assert len(lines) == 3
        assert lines[0].startswith("m at host: why; asking again. If the server is slow, raise timeout_s of the model")
        assert lines[1].startswith(
            "m at host: 60 requests were retried in the last 60 s (40 rate_limit, 20 timeout), 60 answered"
        )
        assert "max_tokens_per_minute of the model" in lines[1]
        assert all(record.levelno == logging.WARNING for record in caplog.records)

    def test_long_waits_are_reported_within_the_minute(self, caplog: pytest.LogCaptureFixture) -> None:
        now = 1000.0
        report = RetryReport(lambda: now)
        report.record_retry("m", "HTTP 500; retrying", ErrorClass.SERVER, "llm", "", 1.0)
        now += 5.0
        report.record_retry("m", "HTTP 429; retrying in 40 s", ErrorClass.RATE_LIMIT, "llm", "", 40.0)
        report.record_retry("m", "HTTP 429; retrying in 41 s", ErrorClass.RATE_LIMIT, "llm", "", 41.0)
        report.record_wait("m", 40.0)
        now += 40.0
        report.record_retry("m", "HTTP 429; retrying in 30 s", ErrorClass.RATE_LIMIT, "llm", "", 30.0)
        lines = [record.getMessage() for record in caplog.records]
        assert [line.partition(". ")[0].removesuffix("; retrying") for line in lines] == [
            "m: HTTP 500",
            "m: HTTP 429; retrying in 40 s",
            "m: HTTP 429; retrying in 30 s",
        ]

    def test_long_wait_at_the_gate_is_reported_once_a_minute(self, caplog: pytest.LogCaptureFixture) -> None:
        now = 1000.0
        report = RetryReport(lambda: now)
        for seconds in range(0, 130, 10):
            now = 1000.0 + seconds
            report.record_wait("m at host", 26.0)
            report.record_wait("m at host", 9.0)
        lines = [record.getMessage() for record in caplog.records]
        assert len(lines) == 3
        assert lines[0].startswith(
            "m at host: the next request is sent in 26 s, because the server asked for this wait, or"
        )

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ("the embedder", "raise timeout_s of the embedder, or lower its concurrency or batch_size"),
            ("the reranker", "raise timeout_s of the reranker, or lower its concurrency or batch_size"),
            ("the model", "raise timeout_s of the model, or lower its concurrency"),
        ],
    )
    def test_timeout_report_recommends_smaller_batches(
        self, caplog: pytest.LogCaptureFixture, settings: str, said: str
    ) -> None:
        RetryReport().record_retry("m at host", "why; asking again", ErrorClass.TIMEOUT, settings, "")
        assert caplog.records[0].getMessage().endswith(said)


class TestWindow:
    def test_request_window_is_unlimited_until_a_timeout(self) -> None:
        window = Window()
        for _ in range(100):
            assert window.has_room(8)
            window.enter()
        assert window.limit(8) == 8

    def test_concurrent_timeouts_halve_the_request_window_once(self) -> None:
        window, sent_at = Window(), time.monotonic()
        for _ in range(8):
            window.record_timeout(8, sent_at)
        assert window.limit(8) == 4
        window.record_timeout(8, time.monotonic())
        assert window.limit(8) == 2

    def test_request_window_keeps_room_for_one(self) -> None:
        window = Window()
        for _ in range(20):
            window.record_timeout(8, time.monotonic())
        assert window.limit(8) == 1
        assert window.has_room(8)
        window.enter()
        assert not window.has_room(8)
        window.leave()
        assert window.has_room(8)

    def test_request_window_grows_slowly_near_earlier_timeouts(self) -> None:
        window = Window()
        window.record_timeout(16, time.monotonic())
        rounds = []
        while window.limit(16) < 16 and len(rounds) < 200:
            n = window.limit(16)
            rounds.append(n)
            for _ in range(n):
                window.record_answer(16)
        assert rounds[:4] == [8, 8, 9, 10] or rounds[:4] == [8, 9, 10, 11]
        assert 10 < len(rounds) - rounds.index(14) < 40, "near 16 each further one takes ten rounds"
        assert window._limit == inf
