"""Redirects are followed only within the same server."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.openai_server.connection import Connection
from components.openai_server.look_up import LookUpFailed, fetch_body
from components.openai_server.origin import resolve_redirect
from components.openai_server.server_errors import (
    Redirected,
    affects_all_requests,
    classify_error,
    describe_error,
    is_temporary,
)
from components.records import ErrorClass
from tests.llms.chat_server import Reply, chat_server

STATUSES = (301, 302, 303, 307, 308)


def post(url: str) -> Any:
    async def run() -> Any:
        async with Connection(url, "") as connection:
            return await connection.post("/anything", b"{}")

    return asyncio.run(run())


def redirect(status: int, location: str) -> Reply:
    headers: Mapping[str, str] = {"Location": location}
    return Reply(status=status, headers=headers)


@pytest.mark.parametrize("status", STATUSES)
def test_redirect_to_another_server_sends_neither_request_nor_key(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with (
        chat_server(lambda *_: Reply("a stranger's")) as stranger,
        chat_server(lambda *_: redirect(status, stranger.url)) as server,
        pytest.raises(Redirected) as caught,
    ):
        post(server.url)
    assert stranger.requests == []
    said = describe_error(caught.value, "")
    assert server.url.removesuffix("/v1") in said
    assert stranger.url.removesuffix("/v1") in said
    assert affects_all_requests(caught.value)
    assert not is_temporary(caught.value)
    assert classify_error(caught.value) is ErrorClass.CONNECTION


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_within_the_server_repeats_the_request(status: int) -> None:
    def script(_: Any, attempt: int) -> Reply:
        return redirect(status, "/v1/other?x=1") if attempt == 1 else Reply(body=b'{"a": 1}')

    with chat_server(script) as server:
        assert post(server.url) == {"a": 1}
        assert len(server.requests) == 2


def test_endless_redirect_ends_after_five_hops() -> None:
    with chat_server(lambda *_: redirect(307, "/v1/again")) as server, pytest.raises(Redirected, match="more than 5"):
        post(server.url)
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    "location",
    ["https://host:8000/v1", "http://host/v1", "http://host:8001/v1", "http://hos:8000/v1", "//other:8000/v1",
     "http://me:Secret77@host:8001/", "file:///etc/passwd", "http://[::1", "http://host:x/", "javascript:alert(1)",
     "http://host:8000@evil/v1"],
)  # fmt: skip
def test_redirect_to_another_origin_is_refused_without_its_password(location: str) -> None:
    with pytest.raises(Redirected) as caught:
        resolve_redirect("http://host:8000/v1/chat", 307, location)
    assert "Secret77" not in str(caught.value)


@pytest.mark.parametrize(
    "location", ["/x", "x", "\\\\evil/v1", "http:evil:80/", "http://HOST:8000/x", "//host:8000/x", "?x=1"]
)
def test_redirect_within_the_same_origin_is_followed(location: str) -> None:
    assert resolve_redirect("http://host:8000/v1/chat", 307, location).lower().startswith("http://host:8000/")


def test_default_port_belongs_to_the_same_origin() -> None:
    assert resolve_redirect("https://host/v1", 308, "https://host:443/v2") == "https://host:443/v2"


def test_lookup_does_not_follow_a_redirect_to_another_server(tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("location", "http://127.0.0.1:1/api/tags")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(LookUpFailed, match=r"redirects to http://127\.0\.0\.1:1, another server"):
            fetch_body(f"http://127.0.0.1:{server.server_port}/api/tags", 5, uses_proxy=False)
