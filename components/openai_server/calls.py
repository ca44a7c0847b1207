"""Many calls under way at once in one event loop, for a caller outside of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Calls(Generic[Item, Result]):
    """`call` on every item, `concurrency` of them at a time, and what has come of them so far. A caller that falls
    behind by as many results holds up further calls.
    """

    def __init__(self, items: Sequence[Item], call: Callable[[Item], Awaitable[Result]], concurrency: int) -> None:
        """Begins at once, in the event loop that runs now."""
        self._waiting = iter(items)
        self._call = call
        self._arrived: asyncio.Queue[tuple[Item, Result]] = asyncio.Queue(concurrency)
        self._workers = asyncio.gather(*(self._work() for _ in range(min(concurrency, len(items)))))

    async def _work(self) -> None:
        for item in self._waiting:
            await self._arrived.put((item, await self._call(item)))

    async def arrived(self) -> list[tuple[Item, Result]]:
        """What has come since the last look, at least one; nothing when all have come. Raises what a call raised.

        Many at once where many come: to hand over a single one takes as long as to make a request.
        """
        if self._arrived.empty():
            one = asyncio.ensure_future(self._arrived.get())
            either: set[asyncio.Future[Any]] = {one, self._workers}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not one.done():
                one.cancel()
                self._workers.result()
                return []
            found = [one.result()]
        else:
            found = []
        while not self._arrived.empty():
            found.append(self._arrived.get_nowait())
        return found

    async def cancel(self) -> None:
        """Ends the calls under way; what has come of others is lost."""
        self._workers.cancel()
        await asyncio.gather(self._workers, return_exceptions=True)
