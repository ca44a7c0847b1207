"""Concurrent calls, driven from an event loop."""

import asyncio
from collections.abc import Sequence

import pytest

from components.openai_server.calls import Calls


async def all_of(calls: Calls[int, int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while arrived := await calls.wait_for_results():
        found += arrived
    return found


async def double(number: int) -> int:
    await asyncio.sleep(0.001 * (number % 3))
    return 2 * number


@pytest.mark.parametrize("concurrency", [1, 4, 100])
def test_calls_return_every_item_once_with_its_result(concurrency: int) -> None:
    async def run() -> list[tuple[int, int]]:
        return await all_of(Calls(range(30), double, concurrency))

    assert sorted(asyncio.run(run())) == [(number, 2 * number) for number in range(30)]


def test_idle_consumer_delays_further_calls() -> None:
    begun: list[int] = []

    async def note(number: int) -> int:
        begun.append(number)
        return number

    async def run() -> None:
        calls = Calls(range(50), note, 3)
        await asyncio.sleep(0.02)
        assert len(begun) == 3
        first = await calls.wait_for_results()
        await asyncio.sleep(0.02)
        assert (len(first), len(begun)) == (3, 3), "the caller may still be storing them"
        assert len(await all_of(calls)) == 47

    asyncio.run(run())


def test_exception_of_a_call_is_raised_after_earlier_results() -> None:
    async def fail(number: int) -> int:
        if number == 2:
            raise ValueError(number)
        return number

    async def run() -> Sequence[tuple[int, int]]:
        calls = Calls(range(5), fail, 1)
        assert await calls.wait_for_results()
        return await all_of(calls)

    with pytest.raises(ValueError, match="2"):
        asyncio.run(run())


def test_cancel_ends_running_calls() -> None:
    async def run() -> bool:
        calls = Calls([1], lambda _: asyncio.sleep(60, 0), 1)
        await asyncio.sleep(0)
        await calls.cancel()
        return True

    assert asyncio.run(run())
