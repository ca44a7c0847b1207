"""A lock while it is held, and the limiter that stops paid requests once it is lost."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from components.errors import StoreError
from components.openai_server.breaker import Health
from components.openai_server.limiter import Account, Attempt, Limiter, Tokens


class LockLost(StoreError):
    """Another process presumed this one dead, for example while its host slept, and took its lock."""


@dataclass(frozen=True)
class HeldLock:
    """A lock of this process. `had_holder` is true if another process held it before.

    `is_lost` asks whether another process has taken it since then.
    """

    had_holder: bool
    is_lost: Callable[[], bool] = lambda: False


class LimiterUnderLock:
    """A limiter that admits attempts only while a lock is held: the new holder sends the remaining requests."""

    def __init__(self, limiter: Limiter, lock: HeldLock) -> None:
        self._limiter, self._lock = limiter, lock

    def admit(self, attempt: Attempt) -> float:
        """Admit an attempt as the inner limiter does. Raises LockLost if the lock is lost."""
        if self._lock.is_lost():
            raise LockLost("its lock was removed, or another process took it while this one was suspended")
        return self._limiter.admit(attempt)

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        self._limiter.settle(attempt, used)

    def withdraw(self, attempt: Attempt) -> None:
        self._limiter.withdraw(attempt)

    def hold(self, account: Account, seconds: float) -> None:
        self._limiter.hold(account, seconds)

    def health(self, endpoint: str) -> Health:
        return self._limiter.health(endpoint)


def seconds_with_sleep() -> float:
    """Return the seconds of a steady clock that also runs while this machine sleeps."""
    # Linux has CLOCK_BOOTTIME. On macOS, CLOCK_MONOTONIC runs during sleep, unlike `time.monotonic`.
    clock = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return time.monotonic() if clock is None else time.clock_gettime(clock)
