"""A local server with OpenAI's chat API, or with any other body of a reply, that can misbehave.

with chat_server(lambda request, attempt: Reply("yes")) as server:
    OpenAIChat("m", base_url=server.url, api_key_env="")
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """A reply of the server: a completion with `text`, unless another field overrides it.

    `body` replaces the whole body, `cut` breaks the connection in the middle of it, `delay_s` comes before everything.
    `others` are the texts of further completions beside the first.
    """

    text: str | None = ""
    others: tuple[str, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: bool = False
    body: bytes | None = None
    finish_reason: str | None = "stop"
    refusal: str | None = None


Script = Callable[[dict[str, Any], int], Reply]
"""Function from a request's body and its number among equal requests (from 1) to the reply."""


class ChatServer:
    """Requests that the server received."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.max_at_once = 0
        self._at_once = 0
        self._attempts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def answer(self, request: dict[str, Any], key: str) -> Reply:
        """Counts the request, waits as long as the reply says, and returns it."""
        with self._lock:
            self.requests.append(request)
            self.keys.append(key)
            self._at_once += 1
            self.max_at_once = max(self.max_at_once, self._at_once)
            prompt = json.dumps(request.get("messages", request.get("input")))
            self._attempts[prompt] += 1
            attempt = self._attempts[prompt]
        try:
            reply = self.script(request, attempt)
            time.sleep(reply.delay_s)
        finally:
            with self._lock:
                self._at_once -= 1
        return reply


def last_message(request: Mapping[str, Any]) -> str:
    """Return the content of a request's last message."""
    return str(request["messages"][-1]["content"])


def completion(reply: Reply) -> bytes:
    """The body of a completion; tokens are counted by characters."""
    texts = [reply.text, *reply.others]
    messages = [{"role": "assistant", "content": text, "refusal": reply.refusal} for text in texts]
    n = sum(len(text or "") for text in texts)
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": index, "message": message, "finish_reason": reply.finish_reason}
            for index, message in enumerate(messages)
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": n, "total_tokens": 7 + n},
    }
    return json.dumps(body).encode()


@contextmanager
def chat_server(script: Script) -> Iterator[ChatServer]:
    """A server at `url` while the context lasts."""
    state = ChatServer(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are two packets: the second would wait for 40 ms

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = state.answer(request, self.headers.get("authorization", ""))
            body = completion(reply) if reply.body is None else reply.body
            try:
                self.send_response(reply.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if reply.cut else body)
            except OSError:
                self.close_connection = True  # the client was not willing to wait
            self.close_connection |= reply.cut

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 1024  # more than five may come at one moment

    server = Server(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
