"""A circuit breaker, shared by the calls of one `generate`: it decides when to stop asking a server."""

import asyncio

from components.openai_server.errors import class_of, is_for_all, is_temporary
from components.records import ErrorClass

_MOST_IN_A_ROW = 10


class Breaker:
    """Opens when the remaining requests would fail like those before them. Lives in one event loop, or is
    told by one thread.

    Before the first answer, a failure that every request would share (a refused key, say) opens it at once. After an
    answer, the key, the model and the server are known to work, and a single refusal may concern one request (a
    firewall that dislikes its text): from then on only many failures in a row open it. A request that fails on its own
    account (HTTP 400) says nothing about the others.
    """

    def __init__(self, concurrency: int) -> None:
        """`concurrency` failures in a row prove nothing: one bad moment hits all requests that are under way."""
        self.reason = ""
        self.error_class = ErrorClass.OTHER
        self._opened = asyncio.Event()
        self._most_in_a_row = max(concurrency + 1, _MOST_IN_A_ROW)
        self._n_in_a_row = 0
        self._answered = False

    @property
    def is_open(self) -> bool:
        """True when nothing more should be asked; `reason` says why, `error_class` what kind of failure it was."""
        return self._opened.is_set()

    def succeeded(self) -> None:
        """The server answered."""
        self._answered, self._n_in_a_row = True, 0

    def failed(self, error: Exception, reason: str) -> None:
        """A request failed for good."""
        # Only failures that others may share count. One that concerns this request alone proves the server is there.
        self._n_in_a_row = self._n_in_a_row + 1 if is_for_all(error) or is_temporary(error) else 0
        most = self._most_in_a_row if self._answered or not is_for_all(error) else 1
        if self._n_in_a_row >= most and not self.is_open:
            self.reason, self.error_class = reason, class_of(error)
            self._opened.set()

    async def wait(self, seconds: float) -> None:
        """Waits so long, or until the breaker opens if that comes first."""
        try:
            async with asyncio.timeout(seconds):
                await self._opened.wait()
        except TimeoutError:
            pass
