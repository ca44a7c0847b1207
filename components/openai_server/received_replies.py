"""Numbers received from a server before their stage ended, stored so that no request is sent and paid for twice.

A stage of vectors or scores sends many requests. Each result is stored on arrival: an interruption, a dead server or a
reached budget loses only the requests in progress. The code that runs the components chooses the place with
`use_received`. Without it, nothing is stored.
"""

from collections.abc import Awaitable, Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.openai_server.server import FailedCall, Server
from components.openai_server.session import NotSent, Session

Item = TypeVar("Item")
Result = TypeVar("Result")

Numbers = NDArray[np.float32]


class ReceivedReplies(Protocol):
    """Results by key. A key covers everything that determines the result: model, parameters, text."""

    def get_all(self, keys: Collection[str]) -> dict[str, Numbers]:
        """Return the stored results among `keys`, each a one-dimensional float32."""

    def add_all(self, results: Mapping[str, Numbers]) -> None:
        """Store results by their keys. Raises StoreError if they cannot be written."""

    def drop(self) -> None:
        """Delete all results, because the finished stage contains them."""


class UnsavedReplies:
    """A `ReceivedReplies` that stores nothing."""

    def get_all(self, keys: Collection[str]) -> dict[str, Numbers]:
        return {}

    def add_all(self, results: Mapping[str, Numbers]) -> None: ...

    def drop(self) -> None: ...


_received: ContextVar[ReceivedReplies] = ContextVar("received", default=UnsavedReplies())  # noqa: B039 - it has no state


def current_received() -> ReceivedReplies:
    """Return the store for results of the current context."""
    return _received.get()


@contextmanager
def use_received(received: ReceivedReplies) -> Iterator[None]:
    """Store all results that arrive within the context in `received`."""
    token = _received.set(received)
    try:
        yield
    finally:
        _received.reset(token)


def request_all(
    server: Server, path: str, items: Sequence[Item], send: Callable[[Session, Item], Awaitable[Result]], who: str
) -> Generator[tuple[Item, Result], None, None]:
    """Yield every item with its result, as it arrives; see `Server.call`.

    This function is for callers that need all results. After a request has failed permanently, it sends no further
    requests, but still yields the results of the open ones. It then raises ComponentError, with `who` as its subject.
    """
    failed: FailedCall | None = None

    async def send_unless_failed(session: Session, item: Item) -> Result:
        if failed:
            raise NotSent
        return await send(session, item)

    with closing(server.call(path, items, send_unless_failed)) as outcomes:
        for item, outcome in outcomes:
            if isinstance(outcome, FailedCall):
                failed = failed or outcome
            else:
                yield item, outcome
    if failed:
        raise ComponentError(f"{who}: {failed.message}")
