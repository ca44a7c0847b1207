"""Concurrent calls in one event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class ConcurrentCalls(Generic[Item, Result]):
    """Calls for every item, whose results go to `deliver` as they arrive.

    At most `concurrency` of them are running, or have results that the receiver has not dealt with. So a kill loses no
    more results than that: the receiver stores a result before it calls `free`.
    """

    def __init__(self, items: Sequence[Item], concurrency: int, deliver: Callable[[tuple[Item, Result]], None]) -> None:
        self._waiting = iter(items)
        self._deliver = deliver
        self._free = asyncio.Semaphore(concurrency)
        self._n_workers = min(concurrency, len(items))

    async def run(self, call: Callable[[Item], Awaitable[Result]]) -> None:
        """Run all calls. Raises the exception of a failed call immediately."""
        await asyncio.gather(*(self._work(call) for _ in range(self._n_workers)))

    async def _work(self, call: Callable[[Item], Awaitable[Result]]) -> None:
        for item in self._waiting:
            await self._free.acquire()
            self._deliver((item, await call(item)))

    def free(self) -> None:
        """Allow another call, because the receiver has dealt with a result."""
        self._free.release()
