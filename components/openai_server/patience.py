"""Time limits that a pause of this process does not use up.

A process that was paused (Ctrl-Z, a suspended cluster job) resumes with its time limits exceeded and with unread
replies, which were paid for. The limit therefore starts again, and the replies are read first.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_PAUSED_S = 2.0
"""A timer that is late by more than this indicates a pause."""


@asynccontextmanager
async def timeout_ignoring_pauses(seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError if the context lasts longer than `seconds`, counted from the end of the last pause."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        timer: asyncio.TimerHandle

        def look(due: float) -> None:
            if loop.time() - due > _PAUSED_S:
                start()
            else:
                limit.reschedule(due)

        def start() -> None:
            nonlocal timer
            due = loop.time() + seconds
            timer = loop.call_at(due, look, due)

        start()
        try:
            yield
        finally:
            timer.cancel()
