"""An account's limits, inferred from its refusals (429), because few servers report their limits.

A limit may concern concurrent requests, or requests or tokens per second or per minute. So the number of concurrent
requests follows what was refused and what was answered, and a doubling delay holds the account only while it answers
nothing.
"""

import threading
import time
from math import inf

_PAUSE_S = 300.0
"""Seconds without requests after which earlier outcomes no longer say anything about the account."""
_NEAR_REFUSAL = 0.25
"""Growth per round near the number at which a request was refused, because each test costs a refusal."""
_TEST_INTERVAL_PER_DELAY = 10.0
"""Seconds until the next such test, per second of delay that the server requested at the last refusal."""
_MAX_TEST_INTERVAL_S = 10.0


class AccountRefusals:
    """The refusals of one account, as one process sees them. Thread-safe."""

    def __init__(self) -> None:
        self._limit = self._too_many = inf
        self._n_in_a_row = 0
        self._refused_at = self._refused_since = 0.0
        self._next_test = 0.0
        self._n_answered = 0
        self._largest = 0
        self._lock = threading.Lock()

    @property
    def limit(self) -> float:
        """Number of concurrent requests that the account takes, as far as known."""
        return self._limit

    @property
    def safe_limit(self) -> float:
        """`limit`, but always below the number at which a request was refused. Requests that were refused obey it: as a
        test of a higher number, one could be refused again and again while new requests are answered.
        """
        return max(1.0, min(self._limit, self._too_many - 1))

    @property
    def n_in_a_row(self) -> int:
        """Number of refusals since the last answer. Refusals of concurrent requests are counted once."""
        return self._n_in_a_row

    @property
    def seconds(self) -> float:
        """Seconds from the first to the last of these refusals."""
        return self._refused_at - self._refused_since

    @property
    def n_answered(self) -> int:
        """Number of answered requests."""
        return self._n_answered

    @property
    def largest(self) -> int:
        """Tokens of the largest prompt that was answered."""
        return self._largest

    def record_answer(self, n_concurrent: int, n_tokens: int) -> None:
        """Record an answer to a prompt of `n_tokens`. It was sent as one of `n_concurrent` requests."""
        with self._lock:
            self._n_in_a_row = 0
            self._n_answered += 1
            self._largest = max(self._largest, n_tokens)
            if n_concurrent >= self._too_many:
                self._too_many = inf
            if n_concurrent + 1 <= self._limit:
                return  # a smaller number than the known one says nothing new
            if self._limit + 1 < self._too_many:
                self._limit += 1
            elif time.monotonic() >= self._next_test:
                self._limit += _NEAR_REFUSAL / self._limit
            self._limit = max(self._limit, n_concurrent)

    def record_refusal(self, n_concurrent: int, sent_at: float, delay_s: float = 0) -> None:
        """Record a refusal, after which the server asked for a delay of `delay_s` seconds.

        The request was sent as one of `n_concurrent`, at a time of `time.monotonic`.
        """
        with self._lock:
            now = time.monotonic()
            self._limit = max(1.0, min(self._limit, n_concurrent - 1))
            if n_concurrent > 1:  # a single one is not refused because of others
                self._too_many = n_concurrent
                self._next_test = now + min(_TEST_INTERVAL_PER_DELAY * delay_s, _MAX_TEST_INTERVAL_S)
            if sent_at < self._refused_at:
                return
            if not self._n_in_a_row or sent_at - self._refused_at > _PAUSE_S:
                self._n_in_a_row, self._refused_since = 0, now
            self._n_in_a_row += 1
            self._refused_at = now
