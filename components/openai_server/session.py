"""Attempts to call a server. Each one passes the limiter first."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from components.json_value import Json
from components.openai_server.body import MAX_BYTES
from components.openai_server.breaker import Breaker
from components.openai_server.connection import Connection
from components.openai_server.limiter import Account, Attempt, Limiter, Tokens, estimate_max_tokens
from components.openai_server.patience import timeout_ignoring_pauses
from components.openai_server.server_errors import (
    HttpError,
    Unreachable,
    WebPage,
    is_rate_limit,
    is_too_slow,
    retry_after_s,
)
from components.openai_server.token_counts import AS_OPENAI, TokenCountPaths

_LOOK_EVERY_S = 0.02
"""Interval between checks for room in the window."""


class NotSent(Exception):
    """The breaker opened before the request was sent."""


class Reply(NamedTuple):
    """A server's reply: unchecked JSON, and its latency in seconds."""

    content: Json
    latency_s: float


@dataclass(frozen=True)
class Session:
    """State shared by all attempts of one `Server.call`, for one event loop."""

    connection: Connection
    path: str
    account: Account
    limiter: Limiter
    breaker: Breaker
    timeout_s: float
    concurrency: int
    turn: asyncio.Lock
    """Held by the attempt that waits for the limiter. The others queue for it."""
    was_refused: bool = False
    """True for the attempts of a request that met a rate limit."""

    async def post(
        self,
        body: Mapping[str, object],
        *,
        max_new_tokens: int = 0,
        counted_at: TokenCountPaths = AS_OPENAI,
        max_bytes: int = MAX_BYTES,
    ) -> Reply:
        """Send one attempt as soon as the limiter admits it, and return the reply.

        `max_new_tokens` limits the model's tokens, and `max_bytes` the size of the reply. Raises the exceptions of
        `server_errors`, NotSent, BudgetReached, StoreError, and UnicodeEncodeError for text with an unpaired surrogate.
        """
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        attempt = Attempt(self.account, Tokens(estimate_max_tokens(len(sent)), max_new_tokens), self.timeout_s)
        n_concurrent = await self._enter(attempt)
        used, was_sent, window = None, True, self.breaker.health.window
        sent_at, started = time.monotonic(), time.perf_counter()
        try:
            async with timeout_ignoring_pauses(self.timeout_s):
                content = await self.connection.post(self.path, sent, max_bytes)
            used = counted_at.count_used(content, attempt.max_tokens)
            window.record_answer(self.concurrency)
            window.refusals.record_answer(n_concurrent, attempt.max_tokens.n_prompt)
        except (HttpError, WebPage, TimeoutError, Unreachable) as error:
            was_sent = not isinstance(error, Unreachable)
            if is_too_slow(error):
                window.record_timeout(self.concurrency, sent_at)
            elif was_sent:
                used = Tokens()
            if isinstance(error, HttpError):
                error.n_tokens = attempt.max_tokens.n_prompt
            if is_rate_limit(error):
                window.refusals.record_refusal(n_concurrent, sent_at, retry_after_s(error))
            raise  # any other unreadable reply may be that of a model, and may have been charged
        finally:
            window.leave()
            if was_sent:
                self.limiter.settle(attempt, used)
            else:
                self.limiter.withdraw(attempt)
        return Reply(content, time.perf_counter() - started)

    async def _enter(self, attempt: Attempt) -> int:
        """Wait until the attempt may be sent, and return the number of requests in flight."""
        window = self.breaker.health.window
        async with self.turn:
            while not self.breaker.is_open:
                wait_s = (
                    self.limiter.admit(attempt)
                    if window.has_room(self.concurrency, was_refused=self.was_refused)
                    else _LOOK_EVERY_S
                )
                if wait_s <= 0:
                    return window.enter()
                account = attempt.account
                self.breaker.health.retries.record_wait(f"{account.model} at {account.host}", wait_s)
                await self.breaker.wait(wait_s)
        raise NotSent
