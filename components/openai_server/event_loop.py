"""A coroutine that runs in a separate event-loop thread and hands over its results as they arrive."""

import asyncio
import atexit
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class _Ended:
    """The last entry of the queue, with the exception that ended the coroutine."""

    error: BaseException | None


class LoopThread(Generic[Item]):
    """An event loop in a thread of its own, for one coroutine.

    Unlike threads, its calls can be cancelled, and they continue while the caller writes a result to disk. Ctrl-C may
    come at any moment. In `Future` and `Condition` it sometimes leaves a lock held, and the next use of
    it waits forever. So the caller's thread only calls methods written in C, which an interrupt does not split.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._queue = SimpleQueue[Item | _Ended]()
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False

    def put(self, item: Item) -> None:
        """Hand over an item to the caller."""
        self._queue.put(item)

    def call_soon(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, if it still runs. Does not wait for it."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function)

    def items(self, work: Callable[[], Awaitable[None]]) -> Generator[Item, None, None]:
        """Yield the items that `work` hands over by `put`, until it ends. Raises its exception.

        Closing the iterator, or an interrupt, cancels it immediately.
        """
        thread = threading.Thread(target=copy_context().run, args=(self._run, work), daemon=True, name="requests")
        has_ended = False

        def stop() -> None:
            self.call_soon(self._stop)
            if thread.is_alive():
                thread.join()

        # An iterator that a traceback keeps alive would be closed only after Python has frozen the loop, and would
        # hang. The loop is still alive when the atexit handlers run.
        try:
            atexit.register(stop)
            thread.start()
            while not isinstance(item := self._queue.get(), _Ended):
                yield item
            has_ended = True
            if item.error:
                raise item.error
        finally:
            self.call_soon(self._stop)
            while thread.is_alive() and not has_ended:
                has_ended = isinstance(self._queue.get(), _Ended)
            atexit.unregister(stop)

    def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        error: BaseException | None = None
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._work(work))
        except asyncio.CancelledError:
            pass
        except BaseException as caught:  # noqa: BLE001 - the caller raises it
            error = caught
        finally:
            self._queue.put(_Ended(error))

    async def _work(self, work: Callable[[], Awaitable[None]]) -> None:
        self._task = asyncio.current_task()
        if not self._is_stopped:
            await work()

    def _stop(self) -> None:
        self._is_stopped = True
        if self._task:
            self._task.cancel()
