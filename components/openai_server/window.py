"""How many requests an endpoint gets at once: half as many when they time out, one more with each answered round.

A slow server to which `concurrency` requests are too many answers none of them in time, and would get as many again.
This is the rule by which TCP shares a line (additive increase, multiplicative decrease). Processes need not tell each
other: each sees the time-outs of its own requests, and makes room.
"""

import threading
import time
from math import inf

_CUT_TO = 0.5
_NEAR_TIMEOUTS = 0.1
"""Near the number at which requests timed out, one more is tried with every tenth round: each try costs a time-out."""


class Window:
    """The requests of one process to one endpoint. Without time-outs it limits nothing. Safe in several threads."""

    def __init__(self) -> None:
        self._limit = self._too_many = inf
        self._n_under_way = 0
        self._cut_at = 0.0
        self._lock = threading.Lock()

    def limit(self, concurrency: int) -> int:
        """Requests at once for a caller that may have so many."""
        return int(min(self._limit, concurrency))

    def has_room(self, concurrency: int) -> bool:
        """Whether one more may be sent. A window that was never cut always has room."""
        return self._limit == inf or self._n_under_way < self.limit(concurrency)

    def enter(self) -> None:
        """A request is sent."""
        with self._lock:
            self._n_under_way += 1

    def leave(self) -> None:
        """A request ended, whatever came of it."""
        with self._lock:
            self._n_under_way -= 1

    def answered(self, concurrency: int) -> None:
        """A request was answered in time."""
        with self._lock:
            if self._limit == inf:
                return
            step = 1.0 if self._limit + 1 < self._too_many else _NEAR_TIMEOUTS
            self._limit += step / self._limit
            if self._limit >= concurrency:
                self._limit = inf

    def timed_out(self, concurrency: int, sent_at: float) -> None:
        """A request that was sent at that time of `time.monotonic` got no reply in time. Those that were sent before
        the last cut have no say: they were as many as it found too many.
        """
        with self._lock:
            if sent_at < self._cut_at:
                return
            self._too_many = min(self._limit, concurrency)
            self._limit = max(1.0, self._too_many * _CUT_TO)
            self._cut_at = time.monotonic()
