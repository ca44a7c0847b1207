"""What every attempt to ask a server has to pass: rate limits, and whatever else all who ask must share.

Who runs the components sets the gate (`passing`); without one the attempts of each process are paced by themselves.
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
    """Whose limits an attempt counts against: a model at a server, under the key in an environment variable. A limit of
    None is none. `is_free`: on machines of the user's, where nobody charges.
    """

    host: str
    model: str
    api_key_env: str
    max_requests_per_minute: int | None = None
    max_tokens_per_minute: int | None = None
    is_free: bool = False

    @property
    def priced_at(self) -> str:
        """Whose prices count, as price lists name them."""
        return OWN_MACHINES if self.is_free else self.host

    @property
    def name(self) -> str:
        """The same for all whose attempts count together, whatever limits they were given."""
        return f"{self.host} {self.model} {self.api_key_env}"

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """Requests and tokens per minute."""
        return self.max_requests_per_minute, self.max_tokens_per_minute


@dataclass(frozen=True)
class Tokens:
    """What a request takes: `n_cached` are those of the prompt that the server had at hand, at a price of their own."""

    n_prompt: int = 0
    n_completion: int = 0
    n_cached: int = 0

    @property
    def n_all(self) -> int:
        """Of prompt and completion."""
        return self.n_prompt + self.n_completion

    def __add__(self, other: "Tokens") -> "Tokens":
        """Of two requests."""
        return Tokens(
            self.n_prompt + other.n_prompt, self.n_completion + other.n_completion, self.n_cached + other.n_cached
        )


def n_tokens_at_most(n_bytes: int) -> int:
    """Tokens of a text in UTF-8: an English token has more than three bytes, a Chinese character is three and seldom
    more than one token.
    """
    return n_bytes // 3


@dataclass(frozen=True)
class Attempt:
    """One request that is to be sent; `most` are the tokens that it may take, `timeout_s` the time."""

    account: Account
    most: Tokens
    timeout_s: float

    def n_unused(self, used: Tokens | None) -> int:
        """Tokens that it was thought to take and did not; without a word from the server it took them all."""
        return self.most.n_all - used.n_all if used else 0


class Gate(Protocol):
    """Its methods return at once."""

    def admit(self, attempt: Attempt) -> float:
        """0.0: send it now, it counts from here on. Otherwise the seconds until it is worth asking again.

        Raises BudgetReached if it must not be sent, now or later, and StoreError if it cannot be counted, or an earlier
        one could not.
        """

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        """An admitted attempt ended. `used` is None if it did so without a word from the server."""

    def withdraw(self, attempt: Attempt) -> None:
        """An admitted attempt was never sent, since no connection could be made: it does not count."""

    def hold(self, account: Account, seconds: float) -> None:
        """The server wants nobody to ask for so long."""

    def health(self, endpoint: str) -> Health:
        """What came of earlier calls of an endpoint, changed by the calls that follow. Of those of other processes
        nothing is known.
        """


class OwnGate:
    """Keeps the rate limits of this process alone."""

    def __init__(self, health: Callable[[str], Health] | None = None) -> None:
        """`health` is that of another gate, for one that stands inside of it."""
        self._health = health
        self._paces: defaultdict[str, Pace] = defaultdict(Pace)

    def admit(self, attempt: Attempt) -> float:
        pace, limits = self._paces[attempt.account.name], attempt.account.limits
        if wait_s := pace.wait_s(now := time.time(), *limits):
            return wait_s
        pace.take_turn(now, *limits, attempt.most.n_all)
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
        return Health()  # outside of a sweep each call is somebody's own, who may have started the server meanwhile


_gate: ContextVar[Gate] = ContextVar("gate", default=OwnGate())  # noqa: B039 - one for all of a process is meant


def current_gate() -> Gate:
    """The gate that the caller's attempts have to pass."""
    return _gate.get()


@contextmanager
def passing(gate: Gate) -> Iterator[None]:
    """All attempts made within the context have to pass this gate."""
    token = _gate.set(gate)
    try:
        yield
    finally:
        _gate.reset(token)
