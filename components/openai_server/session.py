"""One attempt after the other through the gate to a server."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from components.openai_server.body import MOST_BYTES
from components.openai_server.breaker import Breaker
from components.openai_server.connection import Connection
from components.openai_server.counts import AS_OPENAI, CountedAt
from components.openai_server.errors import HttpError, Malformed, Unreachable, is_too_slow
from components.openai_server.gate import Account, Attempt, Gate, Tokens, n_tokens_at_most
from components.openai_server.patience import within

_LOOK_EVERY_S = 0.02
"""By the one who waits for room in a window."""


class NotAsked(Exception):
    """The breaker opened before the request was sent."""


class Reply(NamedTuple):
    """What a server sent, as JSON that nobody has checked, and the seconds that it took."""

    content: Any
    latency_s: float


@dataclass(frozen=True)
class Session:
    """What all attempts of one `Server.call` share. Lives in one event loop."""

    connection: Connection
    path: str
    account: Account
    gate: Gate
    breaker: Breaker
    timeout_s: float
    concurrency: int
    turn: asyncio.Lock
    """Held by the one who waits at the gate: the others stand in line behind it."""

    async def post(
        self,
        body: Mapping[str, Any],
        *,
        max_new_tokens: int = 0,
        counted_at: CountedAt = AS_OPENAI,
        most_bytes: int = MOST_BYTES,
    ) -> Reply:
        """Asks once, as soon as the gate lets it through. `max_new_tokens` is what the model may write at most, and
        `most_bytes` how large its reply may be.

        Raises what is in `errors`, NotAsked, BudgetReached, and UnicodeEncodeError for a text with half a character.
        """
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        attempt = Attempt(self.account, Tokens(n_tokens_at_most(len(sent)), max_new_tokens), self.timeout_s)
        await self._enter(attempt)
        used, was_sent, window = None, True, self.breaker.health.window
        sent_at, started = time.monotonic(), time.perf_counter()
        try:
            async with within(self.timeout_s):
                content = await self.connection.post(self.path, sent, most_bytes)
            used = counted_at.used(content, attempt.most)
            window.answered(self.concurrency)
        except (HttpError, Malformed, TimeoutError, Unreachable) as error:
            was_sent = not isinstance(error, Unreachable)
            if is_too_slow(error):
                window.timed_out(self.concurrency, sent_at)
            elif was_sent:
                used = Tokens()
            raise
        finally:
            window.leave()
            if was_sent:
                self.gate.settle(attempt, used)
            else:
                self.gate.withdraw(attempt)
        return Reply(content, time.perf_counter() - started)

    async def _enter(self, attempt: Attempt) -> None:
        window = self.breaker.health.window
        async with self.turn:
            while not self.breaker.is_open:
                wait_s = self.gate.admit(attempt) if window.has_room(self.concurrency) else _LOOK_EVERY_S
                if wait_s <= 0:
                    window.enter()
                    return
                await self.breaker.wait(wait_s)
        raise NotAsked
