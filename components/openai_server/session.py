"""One attempt after the other through the gate to a server."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from components.openai_server.breaker import Breaker
from components.openai_server.connection import Connection
from components.openai_server.counts import count_in
from components.openai_server.errors import HttpError, Malformed, Unreachable
from components.openai_server.gate import Account, Attempt, Gate, Tokens, n_tokens_at_most


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
    account: Account
    gate: Gate
    breaker: Breaker
    timeout_s: float
    turn: asyncio.Lock
    """Held by the one who waits at the gate: the others stand in line behind it."""

    async def post(self, path: str, body: Mapping[str, Any]) -> Reply:
        """Asks once, as soon as the gate lets it through. `path` follows the base address, e.g. "/chat/completions".

        Raises what is in `errors`, NotAsked, BudgetReached, and UnicodeEncodeError for a text with half a character.
        """
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        attempt = Attempt(self.account, _most(sent, body), self.timeout_s)
        await self._enter(attempt)
        used = None
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.timeout_s):
                content = await self.connection.post(path, sent)
            used = _used(content, attempt.most)
        except (HttpError, Malformed, Unreachable):
            used = Tokens()
            raise
        finally:
            self.gate.settle(attempt, used)
        return Reply(content, time.perf_counter() - started)

    async def _enter(self, attempt: Attempt) -> None:
        async with self.turn:
            while not self.breaker.is_open:
                wait_s = self.gate.admit(attempt)
                if wait_s <= 0:
                    return
                await self.breaker.wait(wait_s)
        raise NotAsked


def _most(sent: bytes, body: Mapping[str, Any]) -> Tokens:
    """What a request takes at most, as far as that can be told before."""
    n_completion = body.get("max_completion_tokens") or body.get("max_tokens") or 0
    return Tokens(n_tokens_at_most(len(sent)), n_completion * body.get("n", 1))


def _used(content: Any, most: Tokens) -> Tokens:
    """What the server counted. A server that counts nothing is taken to have used the most; a reply that is none of
    a model's has used nothing.
    """
    if not isinstance(content, dict) or not content.keys() & {"choices", "data", "results", "usage"}:
        return Tokens()
    usage = content.get("usage")
    if not isinstance(usage, dict):
        return most
    n_prompt, n_completion = count_in(usage, "prompt_tokens"), count_in(usage, "completion_tokens")
    n_prompt = most.n_prompt if n_prompt is None else n_prompt
    n_cached = count_in(usage, "prompt_tokens_details", "cached_tokens") or 0
    return Tokens(n_prompt, most.n_completion if n_completion is None else n_completion, min(n_cached, n_prompt))
