"""Limits of accounts as servers enforce them, in virtual time: every answer arrives, and few requests are refused."""

import asyncio
import random
import re
import selectors
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from components.openai_server.breaker import Breaker
from components.openai_server.calls import Calls
from components.openai_server.errors import HttpError, class_of, is_temporary
from components.openai_server.limiter import ProcessLimiter
from components.openai_server.server import Failed, Server
from components.openai_server.session import Session
from components.records import ErrorClass

REFUSAL = HttpError(429, {"message": "Too many requests"}, {})


class Clock(selectors.SelectSelector):
    """A clock that an event loop does not wait for: it jumps to the next event."""

    now = 1e9

    def select(self, timeout: float | None = None) -> list[Any]:
        if ready := super().select(0):
            return ready
        Clock.now += (timeout or 0.0) + 1e-6  # beyond the resolution of floats
        return []


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.AbstractEventLoop]:
    random.seed(0)
    for name in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: Clock.now)
    loop = asyncio.SelectorEventLoop(Clock())
    monkeypatch.setattr(loop, "time", lambda: Clock.now)
    yield loop
    loop.close()


class Account:
    """A connection to an account that answers in a second, unless a request exceeds its limits.

    At most `n_at_once` requests, and at most `n_requests` requests with `n_tokens` tokens within `period_s`. After
    `lasts_for` requests, it refuses all others. Every request has 1,000 tokens.
    """

    base_url = "http://server/v1"

    def __init__(
        self,
        n_requests: float = 1e9,
        n_tokens: float = 1e9,
        period_s: float = 60.0,
        n_at_once: float = 1e9,
        lasts_for: float = 1e9,
        retry_after: str = "",
    ) -> None:
        self.n_requests, self.n_tokens, self.period_s, self.n_at_once = n_requests, n_tokens, period_s, n_at_once
        self.lasts_for, self.headers = lasts_for, {"Retry-After": retry_after} if retry_after else {}
        self.answered_at: list[float] = []
        self.n_under_way = self.n_refused = 0

    async def post(self, path: str, sent: bytes, max_bytes: int) -> object:
        recent = sum(Clock.now - at < self.period_s for at in self.answered_at)
        limit = min(self.n_requests, self.n_tokens / 1000)
        if recent >= limit or self.n_under_way >= self.n_at_once or len(self.answered_at) >= self.lasts_for:
            self.n_refused += 1
            await asyncio.sleep(0.05)
            raise HttpError(429, REFUSAL.body, self.headers)
        self.answered_at.append(Clock.now)
        self.n_under_way += 1
        await asyncio.sleep(random.uniform(0.5, 1.5))
        self.n_under_way -= 1
        return {"usage": {"prompt_tokens": 1000, "completion_tokens": 0, "total_tokens": 1000}}


def ask(loop: asyncio.AbstractEventLoop, account: Account, n: int, **settings: Any) -> tuple[list[str], float]:
    """Return the messages of failures of `n` requests, and the seconds that all of them took."""
    fields = {"timeout_s": 120.0, "max_retries": 5, "backoff_s": 1.0, "concurrency": 8, **settings}
    server = Server("m", account.base_url, **fields)

    async def send(session: Session, item: int) -> object:
        return await session.post({"item": item})

    async def run() -> list[Any]:
        breaker = Breaker(server.concurrency)
        connection: Any = account
        session = Session(
            connection, "/c", server.account, ProcessLimiter(), breaker, 120.0, server.concurrency, asyncio.Lock()
        )
        calls, results = Calls(range(n), partial(server._call, send, session), server.concurrency), []
        while some := await calls.wait_for_results():
            results += some
        return results

    started = Clock.now
    results = loop.run_until_complete(run())
    assert len(results) == n
    return [result.message for _, result in results if isinstance(result, Failed)], Clock.now - started


@pytest.mark.parametrize("retry_after", ["", "0", "1", "20"])
@pytest.mark.parametrize(
    ("limits", "n", "ideal_s", "max_refused"),
    [
        ({"n_tokens": 20_000}, 100, 240, 70),
        ({"n_tokens": 6_000}, 30, 240, 70),
        ({"n_requests": 3}, 12, 180, 60),
        ({"n_requests": 40}, 120, 120, 60),
        ({"n_requests": 1, "period_s": 1.0}, 60, 60, 60),
        ({"n_requests": 5, "period_s": 1.0}, 100, 20, 60),
        ({"n_at_once": 4}, 100, 25, 20),
        ({"n_at_once": 1}, 40, 40, 40),
    ],
)
def test_every_request_is_answered_under_a_rate_limit(
    loop: asyncio.AbstractEventLoop,
    limits: dict[str, float],
    n: int,
    ideal_s: float,
    max_refused: int,
    retry_after: str,
) -> None:
    account = Account(**limits, retry_after=retry_after)
    failures, seconds = ask(loop, account, n)
    assert not failures
    assert account.n_refused <= max_refused
    if retry_after != "20":  # that delay is followed for any limit
        assert seconds <= 2 * ideal_s + 30


@pytest.mark.parametrize(("lasts_for", "concurrency"), [(0, 8), (50, 8), (0, 32)])
def test_used_up_account_is_given_up_within_minutes(
    loop: asyncio.AbstractEventLoop, lasts_for: int, concurrency: int
) -> None:
    account = Account(lasts_for=lasts_for)
    failures, seconds = ask(loop, account, 200, concurrency=concurrency)
    assert len(failures) == 200 - lasts_for
    assert 100 < seconds < 200
    assert account.n_refused < 3 * concurrency + 20


def test_failure_says_how_long_the_account_was_silent(loop: asyncio.AbstractEventLoop) -> None:
    (failed,) = ask(loop, Account(lasts_for=0), 1)[0]
    assert re.search(r"Too many requests \(attempt \d+\); the account has answered no request for 1[0-9]{2} s", failed)


def test_rate_limit_without_retries_fails_immediately(loop: asyncio.AbstractEventLoop) -> None:
    assert ask(loop, Account(lasts_for=0), 1, max_retries=0)[1] < 1


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Request too large on tokens per min (TPM): Limit 30000, Requested 44525.", ErrorClass.TOO_LONG),
        ("Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500.", ErrorClass.RATE_LIMIT),
        ("Limit exceeded. Requested 5", ErrorClass.RATE_LIMIT),
    ],
)
def test_request_above_the_limit_is_not_sent_again(message: str, expected: ErrorClass) -> None:
    error = HttpError(429, {"message": message, "code": "rate_limit_exceeded"}, {})
    assert class_of(error) is expected
    assert is_temporary(error) is (expected is ErrorClass.RATE_LIMIT)
