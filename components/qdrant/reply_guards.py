"""Guards for the replies of a Qdrant server, whose client would read them whole: redirects, compression and size."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from components.errors import ComponentError
from components.openai_server.origin import REDIRECTS, resolve_redirect
from components.openai_server.server_errors import Redirected

if TYPE_CHECKING:
    from httpx import Response, SyncByteStream

MAX_BYTES = 256 << 20
"""Maximum size of a reply: the hits of 64 queries to depth 100,000 as JSON."""


def guard(response: "Response") -> None:
    """Check a response before its body is read, as a hook of httpx.

    Raises ComponentError for a redirect and for a compressed body.
    """
    if response.status_code in REDIRECTS:
        raise ComponentError(_redirect(response))
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ComponentError("sent a compressed reply, although the request accepts none")
    response.stream = _limit(response.stream)


def _redirect(response: "Response") -> str:
    try:
        resolve_redirect(str(response.url), response.status_code, response.headers.get("location", ""))
    except Redirected as error:
        return str(error.body)
    return "redirects to another path. Give that address as base_url"


def _limit(stream: object) -> "SyncByteStream":
    """Return the stream with a limit: it raises ComponentError after `MAX_BYTES`."""
    from httpx import SyncByteStream

    assert isinstance(stream, SyncByteStream)  # the client is synchronous
    whole = stream

    class Limited(SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            n_bytes = 0
            for part in whole:
                n_bytes += len(part)
                if n_bytes > MAX_BYTES:
                    raise ComponentError(f"sent a reply of more than {MAX_BYTES >> 20} MiB, which is not read")
                yield part

        def close(self) -> None:
            whole.close()

    return Limited()
