"""Reading the body of a reply, compressed or not, with a size limit that protects our memory."""

import zlib
from typing import TYPE_CHECKING

from components.openai_server.server_errors import Malformed, TooLarge

if TYPE_CHECKING:
    from aiohttp import ClientResponse

MAX_BYTES = 64 << 20
"""Maximum size of a reply. The longest completions are below 1 MiB."""

MAX_BYTES_PER_VECTOR = 256 << 10
"""Added to `MAX_BYTES` for each requested vector: 8,192 numbers of 32 characters."""

MAX_BYTES_OF_ERROR = 64 << 10
"""Maximum size of an error's body. The rest is not read."""

ACCEPTED = "gzip, deflate"
_PLAIN = ("", "identity")
_GZIP_OR_ZLIB, _RAW_DEFLATE = 47, -15


async def read_body(reply: "ClientResponse", max_bytes: int) -> bytes:
    """Return the decoded body; for an error, its first `MAX_BYTES_OF_ERROR` bytes.

    Raises TooLarge as soon as the body exceeds `max_bytes`, and Malformed for an encoding that we did not accept.
    """
    is_error = not reply.ok
    limit = MAX_BYTES_OF_ERROR if is_error else max_bytes
    decoder = _decoder(reply.headers.get("content-encoding", "").strip())
    received = bytearray()
    async for chunk in reply.content.iter_any():
        try:
            received += decoder.decode(chunk, limit + 1 - len(received)) if decoder else chunk
        except zlib.error as error:
            raise Malformed(f"a body that cannot be decompressed: {error}") from error
        if len(received) > limit:
            reply.close()  # do not read the rest
            if is_error:
                return bytes(received[:limit])
            raise TooLarge(f"more than {limit >> 20} MiB")
    return bytes(received)


class _Decoder:
    """Decompressor of zlib, raw deflate and gzip with several members. It never decodes more than requested."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._has_begun = False

    def decode(self, chunk: bytes, max_bytes: int) -> bytes:
        """Return at most `max_bytes` bytes; the caller stops when it has enough. Raises zlib.error for damaged data."""
        decoded = bytearray()
        while chunk and len(decoded) < max_bytes:
            if self._zlib.eof:
                self._zlib = zlib.decompressobj(_GZIP_OR_ZLIB)
            decoded += self._decompress(chunk, max_bytes - len(decoded))
            chunk = self._zlib.unconsumed_tail or self._zlib.unused_data
        return bytes(decoded)

    def _decompress(self, chunk: bytes, max_bytes: int) -> bytes:
        try:
            return self._zlib.decompress(chunk, max_bytes)
        except zlib.error:
            if self._has_begun:
                raise
            self._zlib = zlib.decompressobj(_RAW_DEFLATE)
            return self._zlib.decompress(chunk, max_bytes)
        finally:
            self._has_begun = True


def _decoder(encoding: str) -> _Decoder | None:
    """Return a decoder for a content encoding, None for an uncompressed body.

    Raises Malformed for an encoding that we do not accept.
    """
    name = encoding.lower()
    if name in _PLAIN:
        return None
    if name in ("gzip", "x-gzip", "deflate"):
        return _Decoder()
    raise Malformed(f"a body in encoding {encoding!r}, which the request did not accept (it accepts {ACCEPTED})")
