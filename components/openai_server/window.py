"""The number of concurrent requests to an endpoint: halved at timeouts, raised by one per answered round.

A slow server that gets too many requests answers none of them in time, and would then get as many again. TCP shares
connections by the same rule (additive increase, multiplicative decrease). Processes need not communicate: each one sees
the timeouts of its own requests and makes room. Refusals of the account limit the number too.
"""

import threading
import time
from math import inf

from components.openai_server.account_refusals import AccountRefusals

_CUT_TO = 0.5
_NEAR_TIMEOUTS = 0.1
"""Growth per round close to the number at which requests timed out. It is slow, because each probe costs a timeout."""


class Window:
    """The concurrent requests of one process to one endpoint. Without timeouts and refusals there is no limit.

    Thread-safe.
    """

    def __init__(self) -> None:
        self.refusals = AccountRefusals()
        self._limit = self._too_many = inf
        self._n_in_flight = 0
        self._cut_at = 0.0
        self._lock = threading.Lock()

    def limit(self, concurrency: int) -> int:
        """Return the number of concurrent requests allowed for a caller with this `concurrency`.

        While the account answers nothing, one request at a time tests it.
        """
        is_silent = self.refusals.n_in_a_row > 1
        return 1 if is_silent else int(min(self._limit, self.refusals.limit, concurrency))

    def has_room(self, concurrency: int, *, was_refused: bool = False) -> bool:
        """Return True if another request may be sent; always True before the first timeout or refusal.

        One that `was_refused` is not sent as a test of the account's limit.
        """
        if min(self._limit, self.refusals.limit) == inf:
            return True
        limit = self.limit(concurrency)
        return self._n_in_flight < (min(limit, self.refusals.safe_limit) if was_refused else limit)

    def enter(self) -> int:
        """Count a request that is sent, and return the number in flight."""
        with self._lock:
            self._n_in_flight += 1
            return self._n_in_flight

    def leave(self) -> None:
        """Count a request that ended, with any outcome."""
        with self._lock:
            self._n_in_flight -= 1

    def record_answer(self, concurrency: int) -> None:
        """Record a request that was answered in time."""
        with self._lock:
            if self._limit == inf:
                return
            step = 1.0 if self._limit + 1 < self._too_many else _NEAR_TIMEOUTS
            self._limit += step / self._limit
            if self._limit >= concurrency:
                self._limit = inf

    def record_timeout(self, concurrency: int, sent_at: float) -> None:
        """Record a timeout of a request that was sent at `sent_at`, a time of `time.monotonic`.

        Requests sent before the last cut are ignored: they belong to the number that caused that cut.
        """
        with self._lock:
            if sent_at < self._cut_at:
                return
            self._too_many = min(self._limit, concurrency)
            self._limit = max(1.0, self._too_many * _CUT_TO)
            self._cut_at = time.monotonic()
