"""The number of concurrent requests to an endpoint: halved at timeouts and rate limits, plus one per answered round.

A slow server that gets too many requests answers none of them in time, and would then get as many again. TCP shares
connections by the same rule (additive increase, multiplicative decrease). Processes need not communicate: each one sees
the timeouts of its own requests and makes room.

A rate limit may concern concurrent requests, or requests or tokens per second or per minute, and few servers say which.
It halves the number too, but only once before the next answer: tokens per minute are not saved by fewer connections.
Until that answer, one request at a time tests the account.
"""

import threading
import time
from math import inf

_CUT_TO = 0.5
_PAUSE_S = 300.0
"""Seconds without a rate limit after which earlier ones say nothing about the account any more."""
_NEAR_TIMEOUTS = 0.1
"""Growth per round near the number at which requests last timed out or were refused: each test costs a failure."""


class Window:
    """The concurrent requests of one process to one endpoint. Without timeouts and rate limits there is no limit.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._limit = self._too_many = inf
        self._n_under_way = 0
        self._cut_at = 0.0
        self._n_limited = 0
        self._limited_at = self._limited_since = 0.0
        self._lock = threading.Lock()

    def limit(self, concurrency: int) -> int:
        """Return the number of concurrent requests allowed for a caller with this `concurrency`."""
        return int(min(self._limit, concurrency))

    @property
    def n_limited(self) -> int:
        """Number of rate limits since the last answer. Requests that were under way together count once."""
        return self._n_limited

    @property
    def limited_s(self) -> float:
        """Seconds from the first to the last of these rate limits."""
        return self._limited_at - self._limited_since

    def has_room(self, concurrency: int) -> bool:
        """Return True if another request may be sent; always True before the first timeout or rate limit."""
        limit = 1 if self._n_limited else self.limit(concurrency)
        return self._limit == inf or self._n_under_way < limit

    def enter(self) -> None:
        """Count a request that is sent."""
        with self._lock:
            self._n_under_way += 1

    def leave(self) -> None:
        """Count a request that ended, with any outcome."""
        with self._lock:
            self._n_under_way -= 1

    def record_answer(self, concurrency: int) -> None:
        """Record a request that was answered in time."""
        with self._lock:
            self._n_limited = 0
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
            if sent_at >= self._cut_at:
                self._cut(concurrency)

    def record_rate_limit(self, concurrency: int, sent_at: float) -> None:
        """Record a rate limit as the reply to a request that was sent at `sent_at`."""
        with self._lock:
            if sent_at < self._limited_at:
                return
            now = time.monotonic()
            if not self._n_limited or now - self._limited_at > _PAUSE_S:
                self._n_limited, self._limited_since = 0, now
                self._cut(concurrency)
            self._n_limited += 1
            self._limited_at = now

    def _cut(self, concurrency: int) -> None:
        self._too_many = min(self._limit, concurrency)
        self._limit = max(1.0, self._too_many * _CUT_TO)
        self._cut_at = time.monotonic()
