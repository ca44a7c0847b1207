"""A circuit breaker, which decides when to stop sending requests to a server."""

import asyncio
import time
from dataclasses import dataclass, field

from components.errors import BudgetReached, StoreError
from components.openai_server.retry_report import RetryReport
from components.openai_server.server_errors import (
    Refused,
    affects_all_requests,
    classify_error,
    is_rate_limit,
    is_temporary,
)
from components.openai_server.window import Window
from components.records import ErrorClass

NOT_SENT = "not sent"
"""Beginning of the errors of requests that an open breaker kept back."""

_MAX_FAILURES_IN_A_ROW = 10
_MORE_REFUSALS = 3
"""Factor for rate limits: several long prompts, each above the account's limit, do not mean that it is empty."""
_DOWN_PERIOD_S = 60.0
"""Seconds before a server that was found down is tried again."""


@dataclass
class Health:
    """Outcomes of all calls of one endpoint so far.

    `down_since` is a time of `time.monotonic`, None if the server is not known to be down. `reason` and `error_class`
    describe the failure that brought it down. `window` limits the concurrent requests, and `retries` reports retries.
    """

    has_answered: bool = False
    n_failed_in_a_row: int = 0
    down_since: float | None = None
    reason: str = ""
    error_class: ErrorClass = ErrorClass.OTHER
    window: Window = field(default_factory=Window)
    retries: RetryReport = field(default_factory=RetryReport)


class Breaker:
    """A breaker that opens when the remaining requests of a call would fail like the previous ones.

    A breaker is used by one event loop or by one thread.

    Before the first answer, a failure that would affect every request, such as a rejected key, opens it immediately. An
    answer proves that key, model and server work. From then on a single rejection may concern one request only (a
    firewall that dislikes its text), and only many consecutive failures open the breaker. A failure caused by the
    request itself (HTTP 400) is ignored.

    Calls of the same endpoint share its `Health`. If one call found the server down, calls that begin within the next
    minute send nothing. Later calls try the server again, and give up at the first failure that may affect others.
    If the limiter permanently refuses a request of a call, the call sends no further requests.
    """

    def __init__(self, concurrency: int, health: Health | None = None) -> None:
        """Initialize the breaker. It tolerates `concurrency` failures in a row: one bad moment can fail all open
        requests.
        """
        self._health = health or Health()
        self._opened = asyncio.Event()
        self.stop: BudgetReached | StoreError | None = None
        self._max_in_a_row = max(concurrency + 1, _MAX_FAILURES_IN_A_ROW)
        if self._was_down and time.monotonic() - (self._health.down_since or 0.0) < _DOWN_PERIOD_S:
            self._opened.set()

    @property
    def is_open(self) -> bool:
        """True if no further requests should be sent; see `reason` and `error_class`."""
        return self._opened.is_set()

    @property
    def reason(self) -> str:
        """Message of the failure that opened it, "" for none."""
        return self._health.reason

    @property
    def error_class(self) -> ErrorClass:
        """Class of the failure that opened it."""
        return self._health.error_class

    @property
    def health(self) -> Health:
        """The state shared by calls of the endpoint."""
        return self._health

    @property
    def _was_down(self) -> bool:
        return self._health.down_since is not None

    def is_worth_a_retry(self, error: Exception) -> bool:
        """Return False for a server that never accepted a connection, or was down and has not answered since."""
        return not self._was_down and (self._health.has_answered or not isinstance(error, Refused))

    def record_success(self) -> None:
        """Record an answer of the server."""
        self._health.has_answered = True
        self._health.retries.record_answer()
        self._record_up()

    def record_failure(self, error: Exception, reason: str) -> None:
        """Record a request that failed permanently."""
        # Only failures that may affect other requests count. Any other failure proves that the server is up.
        if not (affects_all_requests(error) or is_temporary(error)):
            self._record_up()
            return
        health = self._health
        health.n_failed_in_a_row += 1
        limit = self._max_in_a_row if health.has_answered or not affects_all_requests(error) else 1
        if is_rate_limit(error):
            limit *= _MORE_REFUSALS
        if (self._was_down or health.n_failed_in_a_row >= limit) and not self.is_open:
            health.reason, health.error_class, health.down_since = reason, classify_error(error), time.monotonic()
            self._opened.set()

    def _record_up(self) -> None:
        self._health.n_failed_in_a_row, self._health.down_since = 0, None

    def record_stop(self, error: BudgetReached | StoreError) -> None:
        """Record that the limiter admits no further request. Requests that are waiting for a retry are not sent."""
        self.stop = self.stop or error
        self._opened.set()

    async def wait(self, seconds: float) -> None:
        """Wait for `seconds`, or until the breaker opens."""
        try:
            async with asyncio.timeout(seconds):
                await self._opened.wait()
        except TimeoutError:
            pass
