"""Replies of a Qdrant server that its client must not read."""

from collections.abc import Callable, Iterator

import pytest

from components.errors import ComponentError
from components.qdrant import reply_guards
from tests.extras import skip_without

skip_without("qdrant_client", extra="qdrant")

import httpx  # noqa: E402


class Parts(httpx.SyncByteStream):
    def __init__(self, part: bytes) -> None:
        self.part = part

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield self.part


def replied(make: Callable[[], httpx.Response]) -> httpx.Response:
    transport = httpx.MockTransport(lambda _: make())
    with httpx.Client(transport=transport, event_hooks={"response": [reply_guards.guard]}) as client:
        return client.get("http://host:6333/collections")


def test_qdrant_json_reply_is_read() -> None:
    assert replied(lambda: httpx.Response(200, json={"a": 1})).json() == {"a": 1}


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("http://stranger:6333/collections", "redirects to http://stranger:6333, another server"),
        ("/other", "Give that address as base_url"),
    ],
)
def test_qdrant_redirect_is_refused(location: str, said: str) -> None:
    with pytest.raises(ComponentError, match=said):
        replied(lambda: httpx.Response(307, headers={"location": location}))


def test_endless_qdrant_reply_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_guards, "MAX_BYTES", 1 << 20)
    with pytest.raises(ComponentError, match="more than 1 MiB"):
        replied(lambda: httpx.Response(200, stream=Parts(b"x" * 65_536)))


def test_compressed_qdrant_reply_is_refused() -> None:
    with pytest.raises(ComponentError, match="compressed"):
        replied(lambda: httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Parts(b"x")))
