"""The limiter that admits every attempt to call a server. It enforces rate limits and other shared limits.

The code that runs the components sets the limiter with `use_limiter`. Without it, each process paces its own attempts.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from components.openai_server.breaker import Health
from components.openai_server.pace import Pace
from components.prices import OWN_MACHINES


@dataclass(frozen=True)
class Account:
    """The account that attempts count against: a model at a server, and the environment variable with the key.

    A limit of None means no limit. `is_free` is true for machines of the user, which cost nothing.
    """

    host: str
    model: str
    api_key_env: str
    max_requests_per_minute: int | None = None
    max_tokens_per_minute: int | None = None
    is_free: bool = False

    @property
    def price_name(self) -> str:
        """Name under which price lists have the prices."""
        return OWN_MACHINES if self.is_free else self.host

    @property
    def name(self) -> str:
        """Identity of the account: attempts with equal names share the limits, even if their limits differ."""
        return f"{self.host} {self.model} {self.api_key_env}"

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """Requests and tokens per minute."""
        return self.max_requests_per_minute, self.max_tokens_per_minute


@dataclass(frozen=True)
class Tokens:
    """Tokens of a request. `n_cached` prompt tokens came from the server's cache, which has a separate price."""

    n_prompt: int = 0
    n_completion: int = 0
    n_cached: int = 0

    @property
    def n_all(self) -> int:
        """Tokens of prompt and completion."""
        return self.n_prompt + self.n_completion

    def __add__(self, other: "Tokens") -> "Tokens":
        """Add the tokens of two requests."""
        return Tokens(
            self.n_prompt + other.n_prompt, self.n_completion + other.n_completion, self.n_cached + other.n_cached
        )


def estimate_max_tokens(n_bytes: int) -> int:
    """Return an upper estimate of the tokens in `n_bytes` bytes of UTF-8. Usual texts have fewer.

    An English token has more than three bytes. A Chinese character has three, and is seldom more than one token.
    """
    return n_bytes // 3


@dataclass(frozen=True)
class Attempt:
    """A request to send. `max_tokens` is its maximum number of tokens, `timeout_s` its maximum time."""

    account: Account
    max_tokens: Tokens
    timeout_s: float

    def n_unused(self, used: Tokens | None) -> int:
        """Return the tokens that were reserved but not used. Without a reply from the server, all count as used."""
        return self.max_tokens.n_all - used.n_all if used else 0


class Limiter(Protocol):
    """A limiter for attempts. Its methods do not block."""

    def admit(self, attempt: Attempt) -> float:
        """Return 0.0 if the attempt may be sent now; it counts from now on. Otherwise return the seconds to wait before
        asking again.

        Raises BudgetReached if it must never be sent, and StoreError if the limiter cannot count it, or could not
        count an earlier attempt.
        """

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        """Record the end of an admitted attempt. `used` is None if the server sent no reply."""

    def withdraw(self, attempt: Attempt) -> None:
        """Uncount an admitted attempt that was not sent, because no connection could be made."""

    def hold(self, account: Account, seconds: float) -> None:
        """Block the account for `seconds`, as its server demands."""

    def health(self, endpoint: str) -> Health:
        """Return the health of an endpoint, which later calls update. It covers this process only."""


class ProcessLimiter:
    """A limiter that enforces the rate limits of this process only."""

    def __init__(self, health: Callable[[str], Health] | None = None) -> None:
        """Create the limiter. `health` is the method of an outer limiter, if there is one."""
        self._health = health
        self._paces: defaultdict[str, Pace] = defaultdict(Pace)

    def admit(self, attempt: Attempt) -> float:
        pace, limits = self._paces[attempt.account.name], attempt.account.limits
        if wait_s := pace.wait_s(now := time.time(), *limits):
            return wait_s
        pace.take_turn(now, *limits, attempt.max_tokens.n_all)
        return 0.0

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        self._paces[attempt.account.name].give_back(attempt.account.max_tokens_per_minute, attempt.n_unused(used))

    def withdraw(self, attempt: Attempt) -> None:
        self.settle(attempt, Tokens())

    def hold(self, account: Account, seconds: float) -> None:
        self._paces[account.name].hold(time.time(), seconds)

    def health(self, endpoint: str) -> Health:
        if self._health:
            return self._health(endpoint)
        return Health()  # outside a sweep, calls are independent: the user may have started the server in between


_limiter: ContextVar[Limiter] = ContextVar("limiter", default=ProcessLimiter())  # noqa: B039 - shared on purpose


def current_limiter() -> Limiter:
    """Return the limiter of the current context."""
    return _limiter.get()


@contextmanager
def use_limiter(limiter: Limiter) -> Iterator[None]:
    """Send all attempts of the context through this limiter."""
    token = _limiter.set(limiter)
    try:
        yield
    finally:
        _limiter.reset(token)
