"""Bodies of replies are read up to a limit, however they are sent."""

import asyncio
import gzip
import json
import resource
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from components.openai_server.body import MAX_BYTES_OF_ERROR
from components.openai_server.connection import Connection
from components.openai_server.server_errors import (
    Disconnected,
    HttpError,
    Malformed,
    TooLarge,
    describe_error,
    is_temporary,
)

_MAX_BYTES = 1 << 20
_GIB_IN_KIB = 1 << 20


@contextmanager
def sending(headers: Sequence[tuple[str, str]], parts: Iterator[bytes], status: int = 200) -> Iterator[str]:
    """A server that sends these parts of a body while the client reads them."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                for part in parts:
                    self.wfile.write(part)
            except OSError:
                pass

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def received(
    parts: Sequence[bytes] | Iterator[bytes], *headers: tuple[str, str], status: int = 200, most: int = _MAX_BYTES
) -> Any:
    async def run(url: str) -> Any:
        async with Connection(url, "") as connection, asyncio.timeout(30):
            return await connection.post("/x", b"{}", most)

    with sending(headers, iter(parts), status) as url:
        return asyncio.run(run(url))


def endless(part: bytes) -> Iterator[bytes]:
    while True:
        yield part


def compressed(kind: str, content: bytes) -> bytes:
    if kind == "gzip":
        return gzip.compress(content)
    raw = zlib.compressobj(wbits=-15)
    return zlib.compress(content) if kind == "zlib" else raw.compress(content) + raw.flush()


@pytest.mark.parametrize(("kind", "encoding"), [("gzip", "gzip"), ("zlib", "deflate"), ("raw", "deflate")])
def test_compressed_replies_are_read(kind: str, encoding: str) -> None:
    value = {"a": ["好" * 1000, list(range(2000))]}
    assert received([compressed(kind, json.dumps(value).encode())], ("Content-Encoding", encoding)) == value


def test_gzip_members_of_a_reply_are_joined() -> None:
    assert received([gzip.compress(b'{"a":'), gzip.compress(b" 1}")], ("Content-Encoding", "gzip")) == {"a": 1}


def _too_large(kind: str) -> tuple[Any, *tuple[tuple[str, str], ...]]:
    if kind == "plain":
        return (endless(b" " * 65_536),)
    if kind == "chunked":
        return endless(b"10000\r\n" + b" " * 65_536 + b"\r\n"), ("Transfer-Encoding", "chunked")
    encoding = "gzip" if kind == "gzip" else "deflate"
    return [compressed(kind, bytes(300 << 20))], ("Content-Encoding", encoding)  # 300 MiB in 300 KiB


@pytest.mark.parametrize("kind", ["plain", "chunked", "gzip", "zlib", "raw"])
def test_reply_beyond_the_limit_is_not_read_to_its_end(kind: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parts, *headers = _too_large(kind)
    with pytest.raises(TooLarge, match="more than 1 MiB") as caught:
        received(parts, *headers)
    assert not is_temporary(caught.value)
    assert "too large" in describe_error(caught.value, "")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < _GIB_IN_KIB


def test_reply_of_exactly_the_limit_is_accepted() -> None:
    body = json.dumps("x" * (_MAX_BYTES - 2)).encode()
    assert len(body) == _MAX_BYTES
    assert received([body]) == "x" * (_MAX_BYTES - 2)
    with pytest.raises(TooLarge):
        received([body + b" "])


def test_error_body_is_read_only_up_to_its_limit() -> None:
    with pytest.raises(HttpError) as caught:
        received(endless(b"no " * 1000), status=500)
    assert caught.value.status == 500
    assert len(caught.value.body) == MAX_BYTES_OF_ERROR


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "Key-Ab12"])
def test_unsupported_content_encoding_is_malformed(encoding: str) -> None:
    with pytest.raises(Malformed, match=f"encoding '{encoding}'"):
        received([b"x"], ("Content-Encoding", encoding))


def test_reply_with_a_false_content_encoding_is_malformed() -> None:
    with pytest.raises(Malformed, match="decompressed"):
        received([b'{"a": 1}'], ("Content-Encoding", "gzip"))


def test_endless_headers_end_the_request() -> None:
    with pytest.raises((Disconnected, HttpError)):
        received([b"{}"], *((f"X-{number}", "x" * 4000) for number in range(2000)))
