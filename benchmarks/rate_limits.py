"""Requests to accounts with rate limits, in virtual time: how many fail, how long all take, and how many are refused.

The code that sends the requests is the product's. Only the clock and the server are simulated.
"""

import asyncio
import json
import logging
import random
import selectors
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.openai_server.breaker import Breaker
from components.openai_server.concurrent_calls import ConcurrentCalls
from components.openai_server.limiter import ProcessLimiter
from components.openai_server.server import FailedCall, Server
from components.openai_server.server_errors import HttpError
from components.openai_server.session import Session

SIZES = (1000, 1000)
"""Smallest and largest number of tokens of a request."""
UNLIMITED = 1e9
_N_REQUESTS = 200
_TIMEOUT_S = 120.0


class _Clock(selectors.SelectSelector):
    """A clock that an event loop does not wait for: it jumps to the next event."""

    now = 1e9

    def select(self, timeout: float | None = None) -> list[Any]:
        ready: list[Any] = super().select(0)
        if not ready:
            self.now += (timeout or 0.0) + 1e-6  # beyond the resolution of floats
        return ready


@dataclass
class Account:
    """A connection to an account that answers in about `answer_s` seconds, unless a request exceeds its limits.

    It takes `n_requests` requests and `n_tokens` tokens in any `period_s` seconds, and `n_at_once` requests at a time.
    A `bucket` fills up continuously instead, and holds the tokens of a period. After `lasts_for` requests, the account
    refuses all others. Refusals name the delay `retry_after`, "" for none, "exact" for the time until the request fits
    (1 s for concurrent requests).
    """

    n_requests: float = UNLIMITED
    n_tokens: float = UNLIMITED
    period_s: float = 60.0
    n_at_once: float = UNLIMITED
    lasts_for: float = UNLIMITED
    bucket: bool = False
    retry_after: str = ""
    answer_s: float = 1.0

    base_url = "http://server/v1"

    def __post_init__(self) -> None:
        """Begin with full limits."""
        self.n_refused = self._n_in_flight = 0
        self._taken: list[tuple[float, int]] = []
        self._fill, self._filled_at = self.n_tokens, time.monotonic()

    async def post(self, path: str, sent: bytes, max_bytes: int) -> object:
        """Answer a request, or raise the HttpError of a refusal."""
        n_tokens = int(json.loads(sent)["n_tokens"])
        wait_s = self._wait_s(now := time.monotonic(), n_tokens)
        if wait_s > 0:
            self.n_refused += 1
            delay = f"{wait_s:.3f}" if self.retry_after == "exact" else self.retry_after
            await asyncio.sleep(0.05)
            raise HttpError(429, {"message": "Too many requests"}, {"Retry-After": delay} if delay else {})
        self._taken.append((now, n_tokens))
        self._fill -= n_tokens
        self._n_in_flight += 1
        await asyncio.sleep(random.uniform(0.5, 1.5) * self.answer_s)
        self._n_in_flight -= 1
        return {"usage": {"prompt_tokens": n_tokens, "completion_tokens": 0, "total_tokens": n_tokens}}

    def _wait_s(self, now: float, n_tokens: int) -> float:
        """Return the seconds until a request fits the limits, 0.0 if it does now."""
        if self._n_in_flight >= self.n_at_once or len(self._taken) >= self.lasts_for or n_tokens > self.n_tokens:
            return 1.0
        if self.bucket:
            per_second = self.n_tokens / self.period_s
            self._fill = min(self.n_tokens, self._fill + (now - self._filled_at) * per_second)
            self._filled_at = now
            return max(0.0, (n_tokens - self._fill) / per_second)
        recent = [(at, n) for at, n in self._taken if now - at < self.period_s]
        n_free, tokens_free = self.n_requests - len(recent), self.n_tokens - sum(n for _, n in recent)
        ends_at = now
        while recent and (n_free < 1 or tokens_free < n_tokens):
            at, n = recent.pop(0)
            n_free, tokens_free, ends_at = n_free + 1, tokens_free + n, at + self.period_s
        return ends_at - now


@contextmanager
def virtual_time() -> Iterator[asyncio.AbstractEventLoop]:
    """Yield an event loop whose waits take no time. Clocks of `time` show its time."""
    clock = _Clock()

    def read() -> float:
        return clock.now

    loop = asyncio.SelectorEventLoop(clock)
    try:
        with patch.multiple(time, time=read, monotonic=read, perf_counter=read), patch.object(loop, "time", read):
            random.seed(0)
            yield loop
    finally:
        loop.close()


def send(
    loop: asyncio.AbstractEventLoop,
    account: Account,
    n: int = _N_REQUESTS,
    sizes: tuple[int, int] = SIZES,
    **settings: Any,
) -> tuple[list[str], float]:
    """Send `n` requests with random numbers of tokens between the `sizes`.

    Return the messages of failures, and the seconds that all of them took.
    """
    fields = {"timeout_s": _TIMEOUT_S, "max_retries": 5, "backoff_s": 1.0, "concurrency": 8, **settings}
    server = Server("m", account.base_url, **fields)

    async def post(session: Session, item: int) -> object:
        n_tokens = random.Random(item).randint(*sizes)
        return await session.post({"n_tokens": n_tokens, "text": "x" * 3 * n_tokens})

    async def run() -> list[Any]:
        connection: Any = account
        session = Session(
            connection,
            "/chat/completions",
            server.account,
            ProcessLimiter(),
            Breaker(server.concurrency),
            _TIMEOUT_S,
            server.concurrency,
            asyncio.Lock(),
        )
        results: list[Any] = []

        def deliver(result: Any) -> None:
            results.append(result)
            calls.free()

        calls = ConcurrentCalls[int, Any](range(n), server.concurrency, deliver)
        await calls.run(partial(server._call, post, session))
        return results

    started = time.monotonic()
    results = loop.run_until_complete(run())
    return [result.message for _, result in results if isinstance(result, FailedCall)], time.monotonic() - started


@dataclass(frozen=True)
class Setting:
    """An account, and the seconds that `n` requests take if each one is sent as soon as the limits allow."""

    name: str
    limits: dict[str, Any]
    ideal_s: float
    n: int = _N_REQUESTS
    sizes: tuple[int, int] = SIZES


SETTINGS = (
    Setting("4 concurrent requests", {"n_at_once": 4}, 50),
    Setting("1 concurrent request", {"n_at_once": 1}, 60, n=60),
    Setting("3 concurrent requests, answers in 0.1 s", {"n_at_once": 3, "answer_s": 0.1}, 200, 6_000),
    Setting("1 request per second", {"n_requests": 1, "period_s": 1.0}, 200),
    Setting("5 requests per second", {"n_requests": 5, "period_s": 1.0}, 40),
    Setting("3 requests per minute", {"n_requests": 3}, 360, n=20),
    Setting("40 requests per minute", {"n_requests": 40}, 240),
    Setting("20,000 tokens per minute", {"n_tokens": 20_000}, 540),
    Setting("30,000 tokens per minute, continuously", {"n_tokens": 30_000, "bucket": True}, 340),
    Setting("6,000 tokens per minute, continuously", {"n_tokens": 6_000, "bucket": True}, 540, n=60),
    Setting("the same, prompts of 200 to 5,800 tokens", {"n_tokens": 6_000, "bucket": True}, 1740, 60, (200, 5_800)),
)
DELAYS = {"": "no delay", "1": "a delay of 1 s", "exact": "the exact delay"}


def measure(settings: Settings) -> list[Measure]:
    """Return failed requests, the time relative to the ideal, and refused requests, for each limit and delay."""
    logging.getLogger("components.openai_server.retry_report").setLevel(logging.ERROR)
    return [_measure(setting, delay) for setting in SETTINGS for delay in DELAYS]


def _measure(setting: Setting, delay: str) -> Measure:
    with virtual_time() as loop:
        account = Account(**setting.limits, retry_after=delay)
        failures, seconds = send(loop, account, setting.n, setting.sizes)
    return Measure(
        f"failed of {setting.n}: {setting.name}, refusals name {DELAYS[delay]}",
        len(failures),
        "",
        f"{seconds / setting.ideal_s:.2f} of the ideal {setting.ideal_s:.0f} s, {account.n_refused} refused",
        Bound(0),
    )
