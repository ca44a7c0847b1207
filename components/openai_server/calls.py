"""Concurrent calls in one event loop, with results for a caller outside the loop."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Calls(Generic[Item, Result]):
    """Calls of `call` for every item.

    At most `concurrency` of them are running, or have results that the caller has not dealt with. So a kill loses no
    more results than that: the caller stores what it got before it asks for more.
    """

    def __init__(self, items: Sequence[Item], call: Callable[[Item], Awaitable[Result]], concurrency: int) -> None:
        """Start the calls in the running event loop."""
        self._waiting = iter(items)
        self._call = call
        self._arrived: asyncio.Queue[tuple[Item, Result]] = asyncio.Queue()
        self._free = asyncio.Semaphore(concurrency)
        self._n_returned = 0
        self._workers = asyncio.gather(*(self._work() for _ in range(min(concurrency, len(items)))))

    async def _work(self) -> None:
        for item in self._waiting:
            await self._free.acquire()
            self._arrived.put_nowait((item, await self._call(item)))

    async def wait_for_results(self) -> list[tuple[Item, Result]]:
        """Wait for at least one result, and return all that have arrived since the last call.

        The results of the last call count as dealt with. Returns [] when all results were returned. Raises the
        exception of a failed call. Handing over a single result takes as long as building a request, so results are
        returned in batches.
        """
        for _ in range(self._n_returned):
            self._free.release()
        self._n_returned = 0
        if self._arrived.empty():
            one = asyncio.ensure_future(self._arrived.get())
            either: set[asyncio.Future[Any]] = {one, self._workers}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not one.done():
                one.cancel()
                self._workers.result()
                return []
            results = [one.result()]
        else:
            results = []
        while not self._arrived.empty():
            results.append(self._arrived.get_nowait())
        self._n_returned = len(results)
        return results

    async def cancel(self) -> None:
        """Cancel the running calls. Results that were not collected are lost."""
        self._workers.cancel()
        await asyncio.gather(self._workers, return_exceptions=True)
