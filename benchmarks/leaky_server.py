"""A server or proxy that fails in many ways, and repeats the headers of the request in each of them.

It answers chat, embeddings and rerank requests, and any request to a proxy.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Failure(StrEnum):
    """The ways in which a request ends. REFUSED, UNUSABLE, RAISED and KILLED do not come from the server."""

    REFUSED_KEY = "401"
    REFUSED_BY_PROXY = "407"
    ECHO = "500 with the headers"
    REFUSED = "nobody listens"
    UNUSABLE = "an unusable address"
    TIMEOUT = "no reply in time"
    MALFORMED = "a reply that is no JSON"
    WRONG_JSON = "JSON that is no completion"
    ANSWERED = "an answer with the headers"
    REDIRECT = "a redirect with the headers"
    CUT = "a reply that breaks off"
    RAISED = "an exception of a component"
    KILLED = "a kill"


OF_SERVERS = tuple(failure for failure in Failure if failure not in (Failure.REFUSED, Failure.UNUSABLE, Failure.RAISED))

_HANG_S = 4.0
_STATUS = {
    Failure.REFUSED_KEY: 401,
    Failure.REFUSED_BY_PROXY: 407,
    Failure.ECHO: 500,
    Failure.REDIRECT: 302,
}


class LeakyServer:
    """Address of the server, and the number of requests so far."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        self.port = 0
        self.n_requests = 0


@contextmanager
def leaking(failure: Failure) -> Iterator[LeakyServer]:
    """Run a server on this machine within the context."""
    state = LeakyServer(failure)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        do_PUT = do_CONNECT = do_PATCH = do_HEAD = do_GET  # noqa: N815 - the names that http.server looks for

        def answer(self) -> None:
            state.n_requests += 1
            if failure in (Failure.TIMEOUT, Failure.KILLED):
                time.sleep(_HANG_S)
            body = _body(failure, str(dict(self.headers)))
            try:
                self.send_response(_STATUS.get(failure, 200), _in_a_line(str(self.headers.get("Authorization"))))
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body) * (2 if failure is Failure.CUT else 1)))
                if failure is Failure.REDIRECT:
                    self.send_header("location", "https://other.invalid/?" + _in_a_line(str(dict(self.headers))))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                self.close_connection = True
            self.close_connection |= failure is Failure.CUT

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _body(failure: Failure, headers: str) -> bytes:
    if failure in (Failure.MALFORMED, Failure.CUT):
        return f"<html>{headers}</html>".encode()
    if failure is Failure.WRONG_JSON:
        return json.dumps({"choices": headers, "data": headers, "results": headers}).encode()
    if failure is Failure.ANSWERED:
        text = f"The headers are {headers}"
        call = {"id": "1", "type": "function", "function": {"name": headers, "arguments": headers}}
        message = {"role": "assistant", "content": text, "reasoning_content": text, "tool_calls": [call]}
        model_fields = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "model": headers}
        pipeline_fields = {"answer": text, "passages": [{"text": text, "source": headers, "document_id": headers}]}
        return json.dumps(
            {**model_fields, **pipeline_fields, "usage": {"prompt_tokens": 9, "details": headers}}
        ).encode()
    return json.dumps({"error": {"message": f"Incorrect request: {headers}", "code": headers}}).encode()


def _in_a_line(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii").replace("\r", " ").replace("\n", " ")
