"""Concurrent calls to one server, with retries."""

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from components.errors import BudgetReached, StoreError
from components.limits import too_small
from components.openai_server.access import (
    OPENAI,
    extract_host,
    key_problems,
    proxy_problems,
    read_api_key,
    url_problems,
)
from components.openai_server.account_refusals import AccountRefusals
from components.openai_server.breaker import NOT_SENT, Breaker
from components.openai_server.concurrent_calls import ConcurrentCalls
from components.openai_server.connection import Connection
from components.openai_server.event_loop import LoopThread
from components.openai_server.limiter import Account, Limiter, current_limiter
from components.openai_server.retry_report import LONG_WAIT_S
from components.openai_server.server_errors import (
    CertificateExpired,
    Encrypted,
    HttpError,
    PlainHttp,
    Refused,
    Untrusted,
    classify_error,
    describe_error,
    is_rate_limit,
    is_temporary,
    is_too_slow,
    retry_after_s,
)
from components.openai_server.session import NotSent, Session
from components.records import Answer, ErrorClass, Request

_MAX_WAIT_S = 120.0
_MAX_NAMED_WAIT_S = 600.0
"""We do not wait longer than this. Azure asks for a day if a prompt exceeds its limit per minute."""
_MAX_LIMIT_DOUBLINGS = 4
"""Maximum number of doublings of the delay after rate limits. Longer waits would overshoot the limit's minute."""
_MAX_OWN_DOUBLINGS = 2
"""Maximum number of doublings of one request's delay. With longer delays, new requests would always overtake it."""
_MAX_ROUNDS, _MAX_ROUNDS_IF_LONGEST, _MUCH_LONGER = 50, 10, 1.25
"""Answers to other requests, in units of the concurrency, after which we give up on a refused request. It never
fits the account's limits, or others are always faster. The former is likely if its prompt is much longer than any
answered one.
"""
_MIN_LIMITED_S = 60.0
"""Seconds of refusals before a request is given up because others were answered. A fast server answers many requests in
the delays of one, which fits the account's limits.
"""
_LIMIT_TIME_FACTOR = 4.0
"""Rate limits are retried for this many times as long as other failures. Most limits last a minute."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class FailedCall:
    """A call that failed permanently: the reason and the class of the failure."""

    message: str
    error_class: ErrorClass

    def answer(self, request: Request) -> Answer:
        """Return the failure as the outcome of a request."""
        return Answer.from_failure(request, self.message, self.error_class)


@dataclass(frozen=True)
class Server:
    """A server with a `model`, and the settings of its calls. See `OpenAIChat` for the fields."""

    model: str
    base_url: str
    timeout_s: float
    max_retries: int
    backoff_s: float
    concurrency: int
    api_key_env: str = ""
    max_requests_per_minute: int | None = None
    max_tokens_per_minute: int | None = None
    is_free: bool = False
    if_refused: str = "start the server, or give its address as base_url"
    """Advice if no server listens at `base_url`."""
    settings: str = "the model (llm, judge.llm, ...)"
    """Name of the component in messages about its fields."""
    key_scheme: str = "Bearer"
    """Scheme of HTTP authentication for the key: see `Connection`."""

    @property
    def account(self) -> Account:
        """The account whose limits calls count against."""
        return Account(
            extract_host(self.base_url),
            self.model,
            self.api_key_env,
            self.max_requests_per_minute,
            self.max_tokens_per_minute,
            self.is_free,
        )

    def check(self) -> list[str]:
        """Return one message per error in the fields, and a message if the API key is not set."""
        problems = [] if self.model.strip() else ["model: is empty, expected the model's name as the server knows it"]
        problems += too_small(self, max_retries=0, backoff_s=0, concurrency=1)
        for name in ("max_requests_per_minute", "max_tokens_per_minute"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                problems.append(f"{name}: got {limit}, expected at least 1, or null for no limit")
        if not self.timeout_s > 0:
            problems.append(f"timeout_s: got {self.timeout_s}, expected more than 0")
        problems += url_problems(self.base_url) or [f"base_url: {problem}" for problem in self._proxy_problems()]
        return [*problems, *key_problems(self.api_key_env)]

    def _proxy_problems(self) -> list[str]:
        return proxy_problems(self.base_url or OPENAI)

    def call(
        self, path: str, items: Sequence[Item], send: Callable[[Session, Item], Awaitable[Result]]
    ) -> Generator[tuple[Item, Result | FailedCall], None, None]:
        """Yield every item with the result of `send` for it, as it arrives.

        `send` posts one request and reads its reply. `path` is appended to the base address, e.g. "/chat/completions".
        Closing the iterator, or an interrupt, cancels open calls immediately. Raises BudgetReached if the limiter
        admits no more requests, and StoreError if it cannot count them, both after all open calls have ended.
        """
        if not items:
            return
        limiter = current_limiter()
        thread = LoopThread[tuple[Item, Any]]()
        calls = ConcurrentCalls[Item, Any](items, self.concurrency, thread.put)

        async def work() -> None:
            async with self._connection() as connection:
                await calls.run(partial(self._call, send, self._session(connection, path, limiter)))

        stop: BudgetReached | StoreError | None = None
        with closing(thread.items(work)) as outcomes:
            for item, outcome in outcomes:
                if isinstance(outcome, BudgetReached | StoreError):
                    stop = outcome
                else:
                    yield item, outcome
                thread.call_soon(calls.free)
        if stop:
            raise stop

    def answers(
        self, path: str, requests: Sequence[Request], send: Callable[[Session, Request], Awaitable[Answer]]
    ) -> Generator[Answer, None, None]:
        """Yield the answers of `send`, or why their calls failed, as they arrive. See `call`."""
        with closing(self.call(path, requests, send)) as outcomes:
            for request, outcome in outcomes:
                yield outcome.answer(request) if isinstance(outcome, FailedCall) else outcome

    def _connection(self) -> Connection:
        return Connection(self.base_url, self.api_key_env, self.key_scheme)

    def _session(self, connection: Connection, path: str, limiter: Limiter) -> Session:
        breaker = Breaker(self.concurrency, limiter.health(f"{connection.base_url}{path} {self.account.name}"))
        return Session(
            connection, path, self.account, limiter, breaker, self.timeout_s, self.concurrency, asyncio.Lock()
        )

    async def _call(
        self, send: Callable[[Session, Item], Awaitable[Result]], session: Session, item: Item
    ) -> Result | FailedCall | BudgetReached | StoreError:
        """Call `send` for one item, with retries. It returns all failures instead of raising them."""
        breaker = session.breaker
        attempts = _Attempts(self.max_retries, breaker.health.window.refusals)
        while True:
            try:
                result = await send(session, item)
            except NotSent:
                if breaker.stop:
                    return breaker.stop
                again = " again" if attempts.n_ended else ""
                return FailedCall(f"{NOT_SENT}{again}: {breaker.reason}", breaker.error_class)
            except (BudgetReached, StoreError) as stop:
                breaker.record_stop(stop)
                return stop
            except Exception as error:  # noqa: BLE001 - the caller decides what a failure means
                attempts.count(error)
                session = replace(session, was_refused=attempts.n_limited > 0)
                if not self._may_retry(error, attempts, breaker):
                    text = self._error_text(error, attempts)
                    breaker.record_failure(error, text)
                    return FailedCall(text, classify_error(error))
                if breaker.stop:
                    return breaker.stop
                wait_s = self._wait_s(error, attempts, session)
                self._report(error, attempts, breaker, wait_s)
                await breaker.wait(wait_s)
            else:
                breaker.record_success()
                return result

    def _may_retry(self, error: Exception, attempts: "_Attempts", breaker: Breaker) -> bool:
        """Return False if another attempt is useless, after too many failures, or if the account has answered no
        request of any call for long.

        A request that is refused again and again while others are answered may never fit the account's limits.
        """
        if not (self.max_retries and is_temporary(error) and breaker.is_worth_a_retry(error)):
            return False
        if not attempts.is_limited:
            return attempts.n_failed <= self.max_retries
        if retry_after_s(error) > _MAX_NAMED_WAIT_S:
            return False
        refusals, n_rounds = attempts.refusals, attempts.n_others / self.concurrency
        is_longest = attempts.n_tokens > _MUCH_LONGER * refusals.largest
        max_rounds = _MAX_ROUNDS_IF_LONGEST if is_longest else _MAX_ROUNDS
        is_overtaken = n_rounds > max_rounds and attempts.limited_s > _MIN_LIMITED_S
        if attempts.n_limited > self.max_retries and is_overtaken:
            return False
        longest_s = min(_LIMIT_TIME_FACTOR * self._doubled(self.max_retries), _MAX_WAIT_S * self.max_retries)
        return refusals.n_in_a_row <= self.max_retries or refusals.seconds < longest_s

    def _wait_s(self, error: Exception, attempts: "_Attempts", session: Session) -> float:
        """Return the seconds before the next attempt: the server's delay, but at least our own, which doubles.

        A server that asks for a delay of 0 would otherwise use up all attempts immediately. The server's delay holds
        the whole account, and so does ours while the account answers nothing.
        """
        server_s = held_s = min(_MAX_WAIT_S, retry_after_s(error))
        own_s = self._doubled(attempts.n_failed - 1)
        if attempts.is_limited:
            own_s = self._doubled(attempts.n_limited - 1, _MAX_OWN_DOUBLINGS)
            n_tests = attempts.refusals.n_in_a_row - 1
            if attempts.n_limited > self.max_retries and n_tests <= 0:
                held_s = 0.0  # others are answered, so the delay may concern this request alone
            elif n_tests > 0:
                held_s = max(server_s, self._doubled(n_tests - 1, _MAX_LIMIT_DOUBLINGS))
        if held_s > 0:
            session.limiter.hold(session.account, held_s)
        jitter = random.uniform(0.75, 1.25)  # noqa: S311 - spreads the retries of many callers
        return min(_MAX_WAIT_S, max(own_s * jitter, held_s))

    def _doubled(self, n_times: int, n_at_most: int = 30) -> float:
        return self.backoff_s * 2.0 ** min(n_times, n_at_most)

    def _report(self, error: Exception, attempts: "_Attempts", breaker: Breaker, wait_s: float) -> None:
        limit = breaker.health.window.limit(self.concurrency)
        in_s = f" in {wait_s:.0f} s" if wait_s >= LONG_WAIT_S else ""
        timeout = f", timeout_s={self.timeout_s:g}" if is_too_slow(error) else ""
        number = "1 concurrent request" if limit == 1 else f"{limit} concurrent requests"
        at_once = f"It now receives at most {number} instead of concurrency={self.concurrency}"
        breaker.health.retries.record_retry(
            f"{self.model} at {extract_host(self.base_url)}",
            f"{describe_error(error, secret=read_api_key(self.api_key_env))} ({attempts}{timeout}); retrying{in_s}",
            classify_error(error),
            self.settings,
            at_once if limit < self.concurrency else "",
            wait_s,
        )

    def _error_text(self, error: Exception, attempts: "_Attempts") -> str:
        message = describe_error(error, secret=read_api_key(self.api_key_env))
        text = f"{self.model} at {extract_host(self.base_url)}: {message} ({attempts})"
        if attempts.is_limited and (delay_s := retry_after_s(error)) > _MAX_NAMED_WAIT_S:
            text += f"; the server asks us to wait {delay_s:,.0f} s"
        elif attempts.is_limited and attempts.refusals.n_in_a_row > self.max_retries > 0:
            text += f"; no request was answered for {attempts.refusals.seconds:.0f} s"
        elif attempts.is_limited and self.max_retries:
            n_others = attempts.n_others
            text += f"; it was refused {attempts.n_limited} times while {n_others:,} other requests were answered"
        if isinstance(error, Refused):
            text += f"; no server listens there: {self.if_refused}"
        if isinstance(error, PlainHttp):
            text += "; the server speaks HTTP. Use http:// in base_url"
        if isinstance(error, Encrypted):
            text += "; the server speaks TLS. Use https:// in base_url"
        if isinstance(error, CertificateExpired):
            text += "; the server's certificate has expired. Renew it there."
        elif isinstance(error, Untrusted):
            text += (
                f"{_unread_authorities()}. Set SSL_CERT_FILE to a file with the certificate of the authority that "
                f"signed it, or base_url to the host that the certificate names."
            )
        return text


@dataclass
class _Attempts:
    """Attempts of one request that ended without a result: rate limits, and other failures."""

    max_retries: int
    refusals: AccountRefusals
    """Refusals of the account, for all requests."""
    n_failed: int = 0
    n_limited: int = 0
    is_limited: bool = False
    """True if the last one met a rate limit."""
    n_tokens: int = 0
    """Tokens of its prompt, estimated."""
    n_answered_before: int = 0
    """Number of requests that the account had answered before the first rate limit."""
    limited_since: float = 0.0
    """Time of the first rate limit, by `time.monotonic`."""

    @property
    def n_ended(self) -> int:
        return self.n_failed + self.n_limited

    @property
    def n_others(self) -> int:
        """Number of requests that the account answered since the first rate limit."""
        return self.refusals.n_answered - self.n_answered_before

    @property
    def limited_s(self) -> float:
        """Seconds since the first rate limit."""
        return time.monotonic() - self.limited_since

    def count(self, error: Exception) -> None:
        self.is_limited = is_rate_limit(error)
        if isinstance(error, HttpError):
            self.n_tokens = error.n_tokens
        if self.is_limited and not self.n_limited:
            self.n_answered_before = self.refusals.n_answered
            self.limited_since = time.monotonic()
        self.n_limited += self.is_limited
        self.n_failed += not self.is_limited

    def __str__(self) -> str:
        if self.is_limited:
            return f"attempt {self.n_ended}"
        return f"attempt {self.n_failed} of {self.max_retries + 1}"


def _unread_authorities() -> str:
    """Return a note if the file of SSL_CERT_FILE cannot be read, which Python does not report."""
    file = os.environ.get("SSL_CERT_FILE", "")
    if not file or (Path(file).is_file() and os.access(file, os.R_OK)):
        return ""
    return f"; SSL_CERT_FILE={file} is missing or cannot be read"


def build_server(component: object) -> Server:
    """Return the server that a component's fields describe. The fields have the names of `Server`; fields with a
    default there are optional.
    """
    named = [field.name for field in fields(Server) if hasattr(component, field.name)]
    return Server(**{name: getattr(component, name) for name in named})
