"""Calls of a function that may never return, each in a separate thread."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Call = Callable[[Item, Callable[[], float]], Result]
"""A function of an item and of a clock that returns the seconds since its call began."""


def call_each(
    function: Call[Item, Result],
    items: Sequence[Item],
    concurrency: int,
    timeout_s: float,
    is_over: Callable[[], bool] = lambda: False,
    setting: str = "pipeline.timeout_s",
) -> Iterator[tuple[Item, Result | BaseException | None]]:
    """Yield every item with its result, or with the exception of its call, as they arrive.

    A call without a result after `timeout_s`, which users set as `setting`, yields TimeoutError. Its thread continues,
    and its result is dropped. Once `is_over` returns True, no more calls start, and the remaining items are yielded
    with None. The threads do not keep the process alive.
    """
    waiting = deque(enumerate(items))
    running: dict[int, tuple[Item, float]] = {}
    ended: SimpleQueue[tuple[int, Result | BaseException]] = SimpleQueue()

    def run(number: int, item: Item, began: float) -> None:
        outcome: Result | BaseException
        try:
            outcome = function(item, lambda: time.monotonic() - began)
        except BaseException as error:  # noqa: BLE001 - the caller decides what a failure means
            outcome = error
        ended.put((number, outcome))

    while waiting or running:
        while waiting and len(running) < concurrency and not is_over():
            number, item = waiting.popleft()
            running[number] = item, time.monotonic()
            Thread(target=run, args=(number, *running[number]), daemon=True).start()
        if not running:
            yield from ((item, None) for _, item in waiting)
            return
        first_end = min(began for _, began in running.values()) + timeout_s
        try:
            number, outcome = ended.get(timeout=max(0.0, first_end - time.monotonic()))
        except Empty:
            late = [number for number, (_, began) in running.items() if began + timeout_s <= time.monotonic()]
            for number in late:
                yield running.pop(number)[0], TimeoutError(f"no answer after {timeout_s:g} s ({setting})")
            continue
        if number in running:  # otherwise the answer came too late
            yield running.pop(number)[0], outcome
