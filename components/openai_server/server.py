"""Concurrent calls to one server, with retries."""

import asyncio
import atexit
import os
import random
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TypeVar

from components.errors import BudgetReached, StoreError
from components.limits import too_small
from components.openai_server.access import OPENAI, host_of, key_in, key_problems, proxy_problems, url_problems
from components.openai_server.breaker import Breaker
from components.openai_server.calls import Calls
from components.openai_server.connection import Connection
from components.openai_server.errors import (
    CertificateExpired,
    Encrypted,
    PlainHttp,
    Refused,
    Untrusted,
    class_of,
    is_temporary,
    message_of,
    retry_after_s,
)
from components.openai_server.limiter import Account, Limiter, current_limiter
from components.openai_server.retry_report import LONG_WAIT_S
from components.openai_server.session import NotSent, Session
from components.records import Answer, ErrorClass, Request

_MAX_WAIT_S = 120.0
_RATE_LIMIT_FACTOR = 4.0

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failed:
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
    settings: str = "llm"
    """Configuration group of the fields, for messages that name them."""
    key_scheme: str = "Bearer"
    """Scheme of HTTP authentication for the key: see `Connection`."""

    @property
    def account(self) -> Account:
        """The account whose limits calls count against."""
        return Account(
            host_of(self.base_url),
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
    ) -> Generator[tuple[Item, Result | Failed], None, None]:
        """Yield every item with the result of `send` for it, as it arrives.

        `send` posts one request and reads its reply. `path` is appended to the base address, e.g. "/chat/completions".
        Closing the iterator, or an interrupt, cancels open calls immediately. Raises BudgetReached if the limiter
        admits no more requests, and StoreError if it cannot count them, both after all open calls have ended.
        """
        from anyio.from_thread import start_blocking_portal

        if not items:
            return
        # The calls run in an event loop in a separate thread. Unlike threads they can be cancelled, and they continue
        # while the caller writes a result to disk.
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            connection = stack.enter_context(portal.wrap_async_context_manager(self._connection()))
            session = portal.call(self._session, connection, path, current_limiter())
            calls = portal.call(Calls, items, partial(self._call, send, session), self.concurrency)
            stack.callback(portal.call, calls.cancel)
            # An iterator that a traceback keeps alive would be closed only after Python has frozen the loop, and would
            # hang. The loop is still alive when the atexit handlers run.
            atexit.register(stack.close)
            stack.callback(atexit.unregister, stack.close)
            refusal: BudgetReached | StoreError | None = None
            while arrived := portal.call(calls.wait_for_results):
                for item, outcome in arrived:
                    if isinstance(outcome, BudgetReached | StoreError):
                        refusal = outcome
                    else:
                        yield item, outcome
            if refusal:
                raise refusal

    def answers(
        self, path: str, requests: Sequence[Request], send: Callable[[Session, Request], Awaitable[Answer]]
    ) -> Generator[Answer, None, None]:
        """Yield the answers of `send`, or why their calls failed, as they arrive. See `call`."""
        with closing(self.call(path, requests, send)) as outcomes:
            for request, outcome in outcomes:
                yield outcome.answer(request) if isinstance(outcome, Failed) else outcome

    def _connection(self) -> Connection:
        return Connection(self.base_url, self.api_key_env, self.key_scheme)

    def _session(self, connection: Connection, path: str, limiter: Limiter) -> Session:
        breaker = Breaker(self.concurrency, limiter.health(f"{connection.base_url}{path} {self.account.name}"))
        return Session(
            connection, path, self.account, limiter, breaker, self.timeout_s, self.concurrency, asyncio.Lock()
        )

    async def _call(
        self, send: Callable[[Session, Item], Awaitable[Result]], session: Session, item: Item
    ) -> Result | Failed | BudgetReached | StoreError:
        """Call `send` for one item, with retries. It returns all failures instead of raising them."""
        breaker = session.breaker
        for attempt in range(1, self.max_retries + 2):
            try:
                result = await send(session, item)
            except NotSent:
                if breaker.refusal:
                    return breaker.refusal
                again = " again" if attempt > 1 else ""
                return Failed(f"not asked{again}: {breaker.reason}", breaker.error_class)
            except (BudgetReached, StoreError) as refusal:
                breaker.record_refusal(refusal)
                return refusal
            except Exception as error:  # noqa: BLE001 - the caller decides what a failure means
                is_retried = attempt <= self.max_retries and is_temporary(error) and breaker.is_worth_a_retry(error)
                if is_retried and breaker.refusal:
                    return breaker.refusal
                if not is_retried:
                    text = self._error_text(error, attempt)
                    breaker.record_failure(error, text)
                    return Failed(text, class_of(error))
                wait_s = self._wait_s(error, attempt, session)
                self._report(error, attempt, breaker, wait_s)
                await breaker.wait(wait_s)
            else:
                breaker.record_success()
                return result
        raise AssertionError("the last attempt returns")

    def _wait_s(self, error: Exception, attempt: int, session: Session) -> float:
        """Return the seconds before the next attempt: the server's delay, but at least our own.

        A server that asks for a delay of 0 would otherwise use up all attempts immediately. The delay after a rate
        limit holds the whole account. If the server names none, ours add up to more than the minute for which most
        limits last.
        """
        server_s = min(_MAX_WAIT_S, retry_after_s(error) or 0.0)
        is_unnamed = server_s == 0 and class_of(error) is ErrorClass.RATE_LIMIT
        jitter = random.uniform(0.75, 1.25)  # noqa: S311 - spreads the retries of many callers
        own_s = self.backoff_s * (_RATE_LIMIT_FACTOR if is_unnamed else 1.0) * 2.0 ** (attempt - 1) * jitter
        wait_s = min(_MAX_WAIT_S, max(own_s, server_s))
        held_s = wait_s if is_unnamed else server_s
        if held_s > 0:  # otherwise new requests would use up the limit before this one is sent again
            session.limiter.hold(session.account, held_s)
        return wait_s

    def _report(self, error: Exception, attempt: int, breaker: Breaker, wait_s: float) -> None:
        limit = breaker.health.window.limit(self.concurrency)
        in_s = f" in {wait_s:.0f} s" if wait_s >= LONG_WAIT_S else ""
        at_once = f"It gets {limit} concurrent requests instead of {self.settings}.concurrency={self.concurrency}"
        breaker.health.retries.record_retry(
            f"{self.model} at {host_of(self.base_url)}",
            f"{message_of(error, secret=key_in(self.api_key_env))} (attempt {attempt} of {self.max_retries + 1}, "
            f"{self.settings}.timeout_s={self.timeout_s:g}); retrying{in_s}",
            class_of(error),
            self.settings,
            at_once if limit < self.concurrency else "",
            wait_s,
        )

    def _error_text(self, error: Exception, attempt: int) -> str:
        message = message_of(error, secret=key_in(self.api_key_env))
        text = f"{self.model} at {host_of(self.base_url)}: {message} (attempt {attempt} of {self.max_retries + 1})"
        if isinstance(error, Refused):
            text += f"; no server listens there: {self.if_refused}"
        if isinstance(error, PlainHttp):
            text += f"; the server speaks HTTP. Use http:// in {self.settings}.base_url"
        if isinstance(error, Encrypted):
            text += f"; the server speaks TLS. Use https:// in {self.settings}.base_url"
        if isinstance(error, CertificateExpired):
            text += "; the server's certificate has expired. Renew it there."
        elif isinstance(error, Untrusted):
            text += (
                f"{_unread_authorities()}. Set SSL_CERT_FILE to a file with the certificate of the authority that "
                f"signed it, or {self.settings}.base_url to the host that the certificate names."
            )
        return text


def _unread_authorities() -> str:
    """Return a note if the file of SSL_CERT_FILE cannot be read, which Python does not report."""
    file = os.environ.get("SSL_CERT_FILE", "")
    if not file or (Path(file).is_file() and os.access(file, os.R_OK)):
        return ""
    return f"; SSL_CERT_FILE={file} is missing or cannot be read"


def server_of(component: object) -> Server:
    """Return the server that a component's fields describe. The fields have the names of `Server`; fields with a
    default there are optional.
    """
    named = [field.name for field in fields(Server) if hasattr(component, field.name)]
    return Server(**{name: getattr(component, name) for name in named})
