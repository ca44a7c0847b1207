"""Concurrent calls in an event loop, with results that a receiver deals with."""

import asyncio

import pytest

from components.openai_server.concurrent_calls import ConcurrentCalls


async def double(number: int) -> int:
    await asyncio.sleep(0.001 * (number % 3))
    return 2 * number


@pytest.mark.parametrize("concurrency", [1, 4, 100])
def test_calls_deliver_every_item_once_with_its_result(concurrency: int) -> None:
    delivered: list[tuple[int, int]] = []

    def take(result: tuple[int, int]) -> None:
        delivered.append(result)
        calls.free()

    calls = ConcurrentCalls(range(30), concurrency, take)
    asyncio.run(calls.run(double))
    assert sorted(delivered) == [(number, 2 * number) for number in range(30)]


def test_idle_receiver_delays_further_calls() -> None:
    begun: list[int] = []
    delivered: list[tuple[int, int]] = []

    async def note(number: int) -> int:
        begun.append(number)
        return number

    async def run() -> None:
        calls = ConcurrentCalls(range(50), 3, delivered.append)
        running = asyncio.create_task(calls.run(note))
        await asyncio.sleep(0.02)
        assert (len(begun), len(delivered)) == (3, 3), "the receiver may still be storing them"
        calls.free()
        await asyncio.sleep(0.02)
        assert len(begun) == 4
        for _ in range(46):
            calls.free()
        await running

    asyncio.run(run())
    assert len(delivered) == 50


def test_exception_of_a_call_is_raised_after_earlier_results() -> None:
    delivered: list[tuple[int, int]] = []

    async def fail(number: int) -> int:
        if number == 2:
            raise ValueError(number)
        return number

    with pytest.raises(ValueError, match="2"):
        asyncio.run(ConcurrentCalls(range(5), 5, delivered.append).run(fail))
    assert delivered[:2] == [(0, 0), (1, 1)]
