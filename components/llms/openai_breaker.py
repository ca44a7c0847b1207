"""When to stop asking a server: a circuit breaker, shared by the calls of one `generate`."""

import asyncio

from components.llms.openai_errors import is_for_all, is_temporary

_MOST_IN_A_ROW = 10


class Breaker:
    """Opens when the requests that are left would fail like those before. Lives in one event loop.

    What is certain to fail for all opens it at once before the first answer. After an answer the key, the model and the
    server were right once, and a single refusal may be of one request (a firewall that dislikes its text): then only
    failures in a row open it. A request that fails by itself (HTTP 400) says nothing of the others.
    """

    def __init__(self, concurrency: int) -> None:
        """As many failures in a row as requests are under way at once prove nothing: one bad moment meets them all."""
        self.reason = ""
        self._opened = asyncio.Event()
        self._most_in_a_row = max(concurrency + 1, _MOST_IN_A_ROW)
        self._n_in_a_row = 0
        self._answered = False

    @property
    def is_open(self) -> bool:
        """True when nothing more should be asked, for `reason`."""
        return self._opened.is_set()

    def succeeded(self) -> None:
        """The server answered."""
        self._answered, self._n_in_a_row = True, 0

    def failed(self, error: Exception, reason: str) -> None:
        """A request failed for good."""
        self._n_in_a_row = self._n_in_a_row + 1 if is_for_all(error) or is_temporary(error) else 0
        most = self._most_in_a_row if self._answered or not is_for_all(error) else 1
        if self._n_in_a_row >= most and not self.is_open:
            self.reason = reason
            self._opened.set()

    async def wait(self, seconds: float) -> None:
        """Waits, but not longer than until it opens."""
        try:
            async with asyncio.timeout(seconds):
                await self._opened.wait()
        except TimeoutError:
            pass
