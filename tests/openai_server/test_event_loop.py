"""A coroutine in a thread of its own: it ends with its iterator, whenever Ctrl-C arrives."""

import asyncio
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from components.openai_server.event_loop import LoopThread


@pytest.fixture
def _interrupts_are_raised() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(thread: int, after_s: float) -> None:
    time.sleep(after_s)
    signal.pthread_kill(thread, signal.SIGINT)


def wait_for_threads() -> None:
    deadline = time.monotonic() + 10
    while any(thread.is_alive() and thread.name == "requests" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def count_in(thread: LoopThread[int], n: int) -> Iterator[int]:
    async def work() -> None:
        for number in range(n):
            await asyncio.sleep(0)
            thread.put(number)

    return thread.items(work)


def test_items_arrive_in_order_and_the_thread_ends() -> None:
    assert list(count_in(LoopThread(), 50)) == list(range(50))
    wait_for_threads()


@pytest.mark.usefixtures("_interrupts_are_raised")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a loop whose thread did not start
def test_interrupt_at_any_moment_ends_the_thread() -> None:
    """A portal of anyio, for example, hangs after about a hundred such interrupts."""
    moments = random.Random(0)
    main = threading.get_ident()
    n_interrupted = 0
    for _ in range(1000):
        killer = threading.Thread(target=interrupt, args=(main, moments.uniform(0, 0.001)))
        try:
            killer.start()
            for _ in count_in(LoopThread(), 5):
                pass
            killer.join()
        except KeyboardInterrupt:
            n_interrupted += 1
        while killer.is_alive():
            time.sleep(0)
    assert n_interrupted == 1000
    wait_for_threads()


def test_exception_of_the_coroutine_is_raised_after_its_items() -> None:
    thread = LoopThread[int]()

    async def work() -> None:
        thread.put(1)
        raise OSError("too many open files")

    found = []
    with pytest.raises(OSError, match="too many open files"):
        found.extend(thread.items(work))
    assert found == [1]


def test_closing_the_iterator_cancels_the_coroutine() -> None:
    thread = LoopThread[int]()
    cancelled = threading.Event()

    async def work() -> None:
        thread.put(1)
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    with closing(thread.items(work)) as items:
        assert next(items) == 1
    assert cancelled.is_set()
    wait_for_threads()
