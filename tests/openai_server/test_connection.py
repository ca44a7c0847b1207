"""One request, and the ways in which it may end."""

import asyncio
import json
import re
import socket
import ssl
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from components.llms.openai_chat import OpenAIChat
from components.openai_server.connection import Connection
from components.openai_server.connector import _has_unread_bytes
from components.openai_server.server_errors import (
    Disconnected,
    HttpError,
    Malformed,
    Refused,
    Untrusted,
    affects_all_requests,
    describe_error,
    is_temporary,
)
from tests.contracts.llm_contract import request
from tests.llms.chat_server import Reply, chat_server


def post(url: str, body: dict[str, Any] | None = None) -> Any:
    async def run() -> Any:
        async with Connection(url, "") as connection:
            return await connection.post("/anything", json.dumps(body or {}).encode())

    return asyncio.run(run())


def answered(reply: Reply) -> Any:
    with chat_server(lambda *_: reply) as server:
        return post(server.url)


def test_reply_body_is_returned_unchanged() -> None:
    assert answered(Reply(body=b'{"a": [1, "\xe5\xa5\xbd"]}')) == {"a": [1, "好"]}
    assert answered(Reply(body=b"null")) is None


def test_request_body_arrives_unchanged() -> None:
    with chat_server(lambda request, _: Reply(body=json.dumps(request["input"]).encode())) as server:
        assert post(server.url, {"input": ["长", '"']}) == ["长", '"']


def asked_in_turn(*, closes: bool) -> list[Any]:
    """Return the answers of a server that echoes each request twice, or closes the connection after the first echo."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: (\d+)", head)
                assert length
                body = await reader.readexactly(int(length.group(1)))
                whole = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
                writer.write(whole)
                await writer.drain()
                await asyncio.sleep(0.02)
                if closes:
                    break
                writer.write(whole)
        writer.close()

    async def ask() -> list[Any]:
        async with await asyncio.start_server(answer, "127.0.0.1") as server:
            port = server.sockets[0].getsockname()[1]
            async with Connection(f"http://127.0.0.1:{port}", "") as connection:
                answers = []
                for number in range(5):
                    answers.append(await connection.post("/", b"%d" % number))
                    await asyncio.sleep(0.1)
                return answers

    return asyncio.run(ask())


def test_duplicate_response_does_not_answer_the_next_request() -> None:
    """The second copy arrives while the connection waits for its next request."""
    assert asked_in_turn(closes=False) == [0, 1, 2, 3, 4]


def test_connection_closed_between_requests_is_reopened() -> None:
    assert asked_in_turn(closes=True) == [0, 1, 2, 3, 4]


def test_unread_bytes_of_a_connection_are_detected() -> None:
    async def look() -> list[bool]:
        ours, theirs = socket.socketpair()
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=ours)
        seen = [_has_unread_bytes(transport)]
        theirs.send(b"x")
        seen.append(_has_unread_bytes(transport))
        theirs.close()
        transport.close()
        await asyncio.sleep(0)
        return [*seen, _has_unread_bytes(transport), _has_unread_bytes(None)]

    assert asyncio.run(look()) == [False, True, False, False]


def test_http_error_has_the_message_and_headers_of_the_server() -> None:
    with pytest.raises(HttpError) as caught:
        answered(Reply(status=429, body=b'{"error": {"message": "slow", "code": "c"}}', headers={"Retry-After": "7"}))
    error = caught.value
    assert (error.status, error.body["message"], error.code, error.headers["retry-after"]) == (429, "slow", "c", "7")


def test_non_json_body_is_malformed() -> None:
    with pytest.raises(Malformed, match="<html>"):
        answered(Reply(body=b"<html>"))


def error_after(sent: bytes) -> str:
    """The message of the error that a server causes which sends these bytes and closes the connection."""

    def send(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(sent)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=send, args=(listener,))
        server.start()
        with pytest.raises(Disconnected) as caught:
            post(f"http://127.0.0.1:{listener.getsockname()[1]}")
        server.join()
    return describe_error(caught.value, "")


def test_non_http_reply_is_not_a_server_status() -> None:
    line = error_after(b"NOT HTTP AT ALL\r\n\r\n")
    assert line.startswith("the server broke the HTTP protocol: ")
    assert "400" not in line


@pytest.mark.parametrize(
    ("sent", "hint"),
    [
        (b"", ", or it expects https://"),
        (b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-len", ""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", ""),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{}", ""),
    ],
)
def test_incomplete_response_is_not_reported_as_a_missing_connection(sent: bytes, hint: str) -> None:
    broken = "the connection broke: the server closed the connection before its reply was complete"
    assert error_after(sent) == broken + hint


def test_response_that_breaks_off_is_a_lost_connection() -> None:
    with pytest.raises(Disconnected):
        answered(Reply("long " * 100, cut=True))


def test_address_without_a_server_is_refused() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Refused, match=str(port)):
        post(f"http://127.0.0.1:{port}/v1")


@pytest.mark.parametrize(("bypassed", "n_at_proxy"), [("", 1), ("127.0.0.1", 0)])
def test_proxy_variables_of_the_environment_are_respected(
    monkeypatch: pytest.MonkeyPatch, bypassed: str, n_at_proxy: int
) -> None:
    with chat_server(lambda *_: Reply("direct")) as server, chat_server(lambda *_: Reply("by proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", bypassed)
        post(server.url)
        assert (len(proxy.requests), len(server.requests)) == (n_at_proxy, 1 - n_at_proxy)


def failed(url: str) -> str:
    """Return the error of the only attempt to ask a model, although three repeats are allowed."""
    (answer,) = OpenAIChat("m", base_url=url, api_key_env="", max_retries=3, backoff_s=0.0).generate([request("?")])
    assert "(attempt 1 of 4)" in answer.error
    return answer.error


def test_https_request_to_an_http_server_names_the_other_scheme() -> None:
    with chat_server(lambda *_: Reply("never")) as server:
        error = failed(server.url.replace("http://", "https://"))
    assert error.endswith("; the server speaks HTTP. Use http:// in base_url")


ALERT = b"\x15\x03\x03\x00\x02\x02\x28"


@pytest.mark.parametrize("to_http", [b"", ALERT, None], ids=["close", "alert", "reset"])
def test_http_request_to_a_tls_server_names_the_other_scheme(to_http: bytes | None) -> None:
    """The server answers a TLS handshake with an alert: it has no certificate."""

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                is_tls = connection.recv(1) == b"\x16"
                if is_tls or to_http:
                    connection.recv(65_536)
                    connection.sendall(ALERT if is_tls else to_http or b"")
                elif to_http is None:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    connection.recv(65_536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        error = failed(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        listener.shutdown(socket.SHUT_RDWR)
    server.join()
    assert error.endswith("; the server speaks TLS. Use https:// in base_url")


def test_probe_for_tls_takes_little_of_the_request_time() -> None:
    """The server accepts the beginning of a handshake and never answers."""
    is_over = threading.Event()

    def serve(listener: socket.socket) -> None:
        waiting = []
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                break
            if connection.recv(65_536)[:1] == b"\x16":
                waiting.append(connection)
            else:
                connection.close()
        is_over.wait(10)
        for each in waiting:
            each.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        began = time.monotonic()
        with pytest.raises(Disconnected, match="or it expects https://"):
            post(f"http://127.0.0.1:{listener.getsockname()[1]}")
        seconds = time.monotonic() - began
        listener.shutdown(socket.SHUT_RDWR)
        is_over.set()
    server.join()
    assert seconds < 4


def refuse_certificate(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    async def refuse(*_: object) -> Any:
        reason = ssl.SSLCertVerificationError("certificate verify failed")
        reason.verify_code = code
        key = ConnectionKey("host", 443, True, True, None, None, None)
        raise aiohttp.ClientConnectorCertificateError(key, reason)

    monkeypatch.setattr(Connection, "_follow_redirects", refuse)


def test_expired_certificate_error_suggests_renewing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_certificate(monkeypatch, 10)
    assert failed("https://host/v1").endswith("; the server's certificate has expired. Renew it there.")


def test_missing_certificate_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refuse_certificate(monkeypatch, 18)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    assert f"; SSL_CERT_FILE={tmp_path}/gone.pem is missing or cannot be read. Set SSL_CERT_FILE" in failed(
        "https://host/v1"
    )
    (tmp_path / "gone.pem").touch()
    assert "is missing" not in failed("https://host/v1")


def test_untrusted_certificate_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    key = ConnectionKey("host", 443, True, True, None, None, None)

    async def refuse(*_: object) -> Any:
        raise aiohttp.ClientConnectorCertificateError(key, ssl.SSLCertVerificationError("self-signed certificate"))

    monkeypatch.setattr(Connection, "_follow_redirects", refuse)
    with pytest.raises(Untrusted, match="self-signed certificate") as caught:
        post("https://host/v1")
    assert (is_temporary(caught.value), affects_all_requests(caught.value)) == (False, True)
    chat = OpenAIChat("m", base_url="https://host/v1", api_key_env="", max_retries=3, backoff_s=0.0)
    (answer,) = chat.generate([request("?")])
    assert "(attempt 1 of 4). Set SSL_CERT_FILE to a file" in answer.error
    assert "concurrency" not in answer.error
