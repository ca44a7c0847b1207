"""Log messages about retries: the first one immediately, then one per minute with counts."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

from components.records import ErrorClass

log = logging.getLogger(__name__)

_EVERY_S = 60.0

_ADVICE = {
    ErrorClass.TIMEOUT: "If the server is slow, raise {0}.timeout_s or lower {0}.concurrency",
    ErrorClass.RATE_LIMIT: "Set {0}.max_requests_per_minute or {0}.max_tokens_per_minute to the account's limits, or "
    "lower {0}.concurrency",
    ErrorClass.CONNECTION: "If the server is overloaded, lower {0}.concurrency; if it moved, correct its address",
}
_OF_BATCHES = frozenset({"embedder", "reranker"})
"""Groups whose requests hold `batch_size` texts."""

_OTHERWISE = "If this continues, see the server's log; {0}.max_retries and {0}.backoff_s control the retries"


class RetryReport:
    """The retries of one endpoint. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reported_at: float | None = None
        self._again: Counter[ErrorClass] = Counter()
        self._n_answered = 0
        self._lock = threading.Lock()

    def record_answer(self) -> None:
        """Count a request that was answered."""
        self._n_answered += 1

    def record_retry(self, endpoint: str, reason: str, error_class: ErrorClass, settings: str, n_at_once: str) -> None:
        """Count a request that failed for `reason` and is sent again, and log it if a report is due.

        `settings` is the configuration group of the server's fields. `n_at_once` is a sentence about reduced
        concurrency, "" if it is not reduced.
        """
        with self._lock:
            self._again[error_class] += 1
            now = self._clock()
            is_first = self._reported_at is None
            if self._reported_at is not None and now - self._reported_at < _EVERY_S:
                return
            seconds = now - (self._reported_at or now)
            line = [f"{endpoint}: {reason}" if is_first else f"{endpoint}: {self._counts(seconds)}"]
            commonest = self._again.most_common(1)[0][0]
            advice = _ADVICE.get(commonest, _OTHERWISE).format(settings)
            if commonest is ErrorClass.RATE_LIMIT and settings == "retriever":
                advice = "Lower retriever.concurrency"  # it has no limits per minute
            if commonest is ErrorClass.TIMEOUT and settings in _OF_BATCHES:
                advice += f" or {settings}.batch_size"
            log.warning("%s", ". ".join([*line, *([n_at_once] if n_at_once else []), advice]))
            self._reported_at, self._n_answered = now, 0
            self._again.clear()

    def _counts(self, seconds: float) -> str:
        kinds = ", ".join(f"{n} {kind.value}" for kind, n in self._again.most_common())
        n = self._again.total()
        return (
            f"{n} {'request was' if n == 1 else 'requests were'} retried in the last {seconds:.0f} s ({kinds}), "
            f"{self._n_answered} answered"
        )
