"""A circuit breaker: it decides when to stop asking a server."""

import asyncio
import time
from dataclasses import dataclass, field

from components.openai_server.errors import Refused, class_of, is_for_all, is_temporary
from components.openai_server.retry_report import RetryReport
from components.openai_server.window import Window
from components.records import ErrorClass

_MOST_IN_A_ROW = 10
_LEFT_ALONE_S = 60.0
"""So long nobody asks a server that is down; then it is tried again."""


@dataclass
class Health:
    """What came of all calls of one endpoint so far. `down_since` is a time of `time.monotonic`, None for a server that
    is not known to be down; `reason` says why it is, `error_class` what kind of failure it was. `window` is how many
    requests it gets at once, `retries` reports those that are asked again.
    """

    has_answered: bool = False
    n_failed_in_a_row: int = 0
    down_since: float | None = None
    reason: str = ""
    error_class: ErrorClass = ErrorClass.OTHER
    window: Window = field(default_factory=Window)
    retries: RetryReport = field(default_factory=RetryReport)


class Breaker:
    """Opens when the remaining requests of a call would fail like those before them. Lives in one event loop, or is
    told by one thread.

    Before the first answer, a failure that every request would share (a refused key, say) opens it at once. After an
    answer, the key, the model and the server are known to work, and a single refusal may concern one request (a
    firewall that dislikes its text): from then on only many failures in a row open it. A request that fails on its own
    account (HTTP 400) says nothing about the others.

    Calls of the same endpoint share its `Health`. If one of them found the server down, those that begin within a
    minute ask nothing; later ones try it, and give up at the first failure that others may share.
    """

    def __init__(self, concurrency: int, health: Health | None = None) -> None:
        """`concurrency` failures in a row prove nothing: one bad moment hits all requests that are under way."""
        self._health = health or Health()
        self._opened = asyncio.Event()
        self._most_in_a_row = max(concurrency + 1, _MOST_IN_A_ROW)
        if self._was_down and time.monotonic() - (self._health.down_since or 0.0) < _LEFT_ALONE_S:
            self._opened.set()

    @property
    def is_open(self) -> bool:
        """True when nothing more should be asked; `reason` says why, `error_class` what kind of failure it was."""
        return self._opened.is_set()

    @property
    def reason(self) -> str:
        """As in `Health`."""
        return self._health.reason

    @property
    def error_class(self) -> ErrorClass:
        """As in `Health`."""
        return self._health.error_class

    @property
    def health(self) -> Health:
        """What calls of the endpoint share."""
        return self._health

    @property
    def _was_down(self) -> bool:
        return self._health.down_since is not None

    def is_worth_a_retry(self, error: Exception) -> bool:
        """False for a server that was never there, or was down and has not answered since."""
        return not self._was_down and (self._health.has_answered or not isinstance(error, Refused))

    def succeeded(self) -> None:
        """The server answered."""
        self._health.has_answered = True
        self._health.retries.answered()
        self._is_up()

    def failed(self, error: Exception, reason: str) -> None:
        """A request failed for good."""
        # Only failures that others may share count. One that concerns this request alone proves the server is there.
        if not (is_for_all(error) or is_temporary(error)):
            self._is_up()
            return
        health = self._health
        health.n_failed_in_a_row += 1
        most = self._most_in_a_row if health.has_answered or not is_for_all(error) else 1
        if (self._was_down or health.n_failed_in_a_row >= most) and not self.is_open:
            health.reason, health.error_class, health.down_since = reason, class_of(error), time.monotonic()
            self._opened.set()

    def _is_up(self) -> None:
        self._health.n_failed_in_a_row, self._health.down_since = 0, None

    async def wait(self, seconds: float) -> None:
        """Waits so long, or until the breaker opens if that comes first."""
        try:
            async with asyncio.timeout(seconds):
                await self._opened.wait()
        except TimeoutError:
            pass
