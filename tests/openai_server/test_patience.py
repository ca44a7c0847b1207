"""Time limits of requests in a process that was stopped for a while."""

import asyncio
import socket
import threading
import time

import pytest

from components.openai_server import patience
from components.openai_server.patience import timeout_ignoring_pauses


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_PAUSED_S", 0.1)


def pause() -> None:
    """Block the event loop, as in a paused process."""
    asyncio.get_running_loop().call_soon(time.sleep, 0.5)


async def read_within(seconds: float, connection: socket.socket, *, paused: bool) -> bytes:
    reader, writer = await asyncio.open_connection(sock=connection)
    try:
        if paused:
            pause()
        async with timeout_ignoring_pauses(seconds):
            return await reader.readexactly(1)
    finally:
        writer.close()


def test_reply_that_arrived_during_a_pause_is_read() -> None:
    own, theirs = socket.socketpair()
    with theirs:
        threading.Timer(0.3, theirs.send, (b"x",)).start()
        assert asyncio.run(read_within(0.2, own, paused=True)) == b"x"


@pytest.mark.parametrize("paused", [False, True])
def test_missing_reply_ends_in_a_timeout(paused: bool) -> None:
    own, theirs = socket.socketpair()
    began = time.monotonic()
    with theirs, pytest.raises(TimeoutError):
        asyncio.run(read_within(0.2, own, paused=paused))
    assert time.monotonic() - began >= (0.7 if paused else 0.2)
