"""Log messages about retries and waits: the first one immediately, then one per minute with counts, and every long
wait at its start.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

from components.records import ErrorClass

log = logging.getLogger(__name__)

LONG_WAIT_S = 10.0
_EVERY_S = 60.0
_EARLIER_S = 5.0
"""Maximum difference in seconds between waits of concurrent requests that one message covers."""

_ADVICE = {
    ErrorClass.TIMEOUT: "If the server is slow, raise timeout_s of {0}, or lower its concurrency",
    ErrorClass.RATE_LIMIT: "Set max_requests_per_minute or max_tokens_per_minute of {0} to the account's limits, or "
    "lower its concurrency or run.workers.",
    ErrorClass.CONNECTION: "If the server is overloaded, lower the concurrency of {0}. If it moved, correct base_url.",
}
_BATCHING_COMPONENTS = frozenset({"the embedder", "the reranker"})
"""Groups whose requests hold `batch_size` texts."""

_OTHERWISE = "If this continues, see the server's log. max_retries and backoff_s of {0} control the retries."


class RetryReport:
    """The retries of one endpoint. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reported_at: float | None = None
        self._again: Counter[ErrorClass] = Counter()
        self._n_answered = 0
        self._explained_until = 0.0
        self._waited_at: float | None = None
        self._lock = threading.Lock()

    def record_answer(self) -> None:
        """Count a request that was answered."""
        self._n_answered += 1

    def record_wait(self, endpoint: str, wait_s: float) -> None:
        """Log a long wait for the account, at most once a minute, unless a message that covers it was logged."""
        with self._lock:
            now = self._clock()
            is_due = self._waited_at is None or now - self._waited_at >= _EVERY_S
            if is_due and self._explains(wait_s):
                self._waited_at = now
                log.warning(
                    "%s: the next request is sent in %.0f s, because the server asked for this wait, or the account's "
                    "limits per minute are used up",
                    endpoint,
                    wait_s,
                )

    def _explains(self, wait_s: float) -> bool:
        """Return True for a wait that is long, and that no earlier message covers. From now on it counts as covered."""
        end = self._clock() + wait_s
        if wait_s < LONG_WAIT_S or end <= self._explained_until + _EARLIER_S:
            return False
        self._explained_until = end
        return True

    def record_retry(
        self,
        endpoint: str,
        reason: str,
        error_class: ErrorClass,
        settings: str,
        concurrency_note: str,
        wait_s: float = 0.0,
    ) -> None:
        """Count a request that failed for `reason` and is sent again in `wait_s`, and log it if a report is due.

        `settings` is the configuration group of the server's fields. `concurrency_note` is a sentence about reduced
        concurrency, "" if it is not reduced.
        """
        with self._lock:
            self._again[error_class] += 1
            now = self._clock()
            is_first = self._reported_at is None
            is_long = self._explains(wait_s)
            if self._reported_at is not None and now - self._reported_at < _EVERY_S and not is_long:
                return
            seconds = now - (self._reported_at or now)
            line = [f"{endpoint}: {reason}" if is_first or is_long else f"{endpoint}: {self._counts(seconds)}"]
            commonest = self._again.most_common(1)[0][0]
            advice = _ADVICE.get(commonest, _OTHERWISE).format(settings)
            if commonest is ErrorClass.RATE_LIMIT and settings == "the retriever":
                advice = "Lower retriever.concurrency"  # it has no limits per minute
            if commonest is ErrorClass.TIMEOUT and settings in _BATCHING_COMPONENTS:
                advice += " or batch_size"
            log.warning("%s", ". ".join([*line, *([concurrency_note] if concurrency_note else []), advice]))
            self._reported_at, self._n_answered = now, 0
            self._again.clear()

    def _counts(self, seconds: float) -> str:
        kinds = ", ".join(f"{n} {kind.value}" for kind, n in self._again.most_common())
        n = self._again.total()
        return (
            f"{n} {'request was' if n == 1 else 'requests were'} retried in the last {seconds:.0f} s ({kinds}), "
            f"{self._n_answered} answered"
        )
