"""Numbers that came from a server before their stage ended, so that none is asked and paid for twice.

A stage of vectors or scores makes many requests. Each result is kept when it arrives: a kill, a dead server or a budget
loses no more than what was on its way. Who runs the components says where they are kept (`keeping_received`); without
that nothing is kept.
"""

from collections.abc import Awaitable, Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.openai_server.server import Failed, Server
from components.openai_server.session import NotAsked, Session

Item = TypeVar("Item")
Result = TypeVar("Result")

Numbers = NDArray[np.float32]


class Received(Protocol):
    """Results by key. A key stands for all that decides the result: model, parameters, text."""

    def get_all(self, keys: Collection[str]) -> dict[str, Numbers]:
        """Those that are kept, float32 of one dimension each."""

    def add_all(self, results: Mapping[str, Numbers]) -> None:
        """Keeps some. Raises StoreError."""

    def drop(self) -> None:
        """Forgets all: they are kept in another form now."""


class NotKept:
    """Keeps nothing."""

    def get_all(self, keys: Collection[str]) -> dict[str, Numbers]:
        return {}

    def add_all(self, results: Mapping[str, Numbers]) -> None: ...

    def drop(self) -> None: ...


_received: ContextVar[Received] = ContextVar("received", default=NotKept())  # noqa: B039 - it holds nothing


def current_received() -> Received:
    """Where results of the caller's requests are kept."""
    return _received.get()


@contextmanager
def keeping_received(received: Received) -> Iterator[None]:
    """Results that come within the context are kept there."""
    token = _received.set(received)
    try:
        yield
    finally:
        _received.reset(token)


def results_of_all(
    server: Server, path: str, items: Sequence[Item], send: Callable[[Session, Item], Awaitable[Result]], who: str
) -> Generator[tuple[Item, Result], None, None]:
    """Every item with its result, as it arrives: see `Server.call`. For callers that need all of them: once a request
    failed for good, no further one is sent, but the results of those under way still come.

    Raises ComponentError in the end if a request failed, in the name of `who`.
    """
    failed: Failed | None = None

    async def send_unless_failed(session: Session, item: Item) -> Result:
        if failed:
            raise NotAsked
        return await send(session, item)

    with closing(server.call(path, items, send_unless_failed)) as outcomes:
        for item, outcome in outcomes:
            if isinstance(outcome, Failed):
                failed = failed or outcome
            else:
                yield item, outcome
    if failed:
        raise ComponentError(f"{who}: {failed.message}")
