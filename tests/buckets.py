"""A bucket for tests: moto's S3 on this machine, in a separate process that records every request."""

import os
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

BUCKET = "rag-grid-tests"

_LOADED_ONCE = ["moto.moto_server.werkzeug_app", "moto.s3.responses"]
"""Modules that the parent process imports before it forks the bucket servers."""

_CONDITIONS = frozenset({"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"})
"""A service decides about a request with one of these, and carries it out, in one step."""


class Bucket:
    """A bucket that is served at `endpoint`."""

    def __init__(self, service: Connection) -> None:
        self._service = service
        self.endpoint: str = service.recv()

    @property
    def environment(self) -> Mapping[str, str]:
        """The settings of obstore."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_REGION": "us-east-1",
        }

    def address(self, prefix: str) -> str:
        """The address of a store in the bucket."""
        return f"s3://{BUCKET}/{prefix}"

    @property
    def requests(self) -> list[tuple[str, str]]:
        """Method and path, within the bucket, of each request since the last `forget_requests`."""
        found: list[tuple[str, str]] = self._ask("requests")
        return found

    def forget_requests(self) -> None:
        """Start the list and the count of requests again."""
        self._ask("forget_requests")

    def fail_after(self, n_requests: float) -> None:
        """Let the service fail after `n_requests` recorded requests."""
        self._ask("fail_after", n_requests)

    def list_in_pages_of(self, n_keys: int) -> None:
        """Split longer listings into pages of `n_keys`."""
        self._ask("list_in_pages_of", n_keys)

    def put_in_order(self) -> None:
        """Stop recording and failing, and use pages as long as Amazon's."""
        self._ask("put_in_order")

    def asked(self) -> Counter[tuple[str, str]]:
        """Count the requests by (method, first folder) since the last call."""
        requests = self.requests
        self.forget_requests()
        return Counter((method, path.split("/")[1] if "/" in path else path) for method, path in requests)

    def _ask(self, *order: object) -> Any:
        self._service.send(order)
        return self._service.recv()


@contextmanager
def served_bucket(address: str = "127.0.0.1", port: int = 0) -> Iterator[Bucket]:
    """Serves an empty bucket; `address` is 0.0.0.0 for one that other hosts reach."""
    context = get_context("forkserver")
    context.set_forkserver_preload(_LOADED_ONCE)
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, address, port))
    with theirs:
        process.start()
    try:
        with ours:
            bucket = Bucket(ours)
            urllib.request.urlopen(urllib.request.Request(f"{bucket.endpoint}/{BUCKET}", method="PUT"))
            bucket.put_in_order()
            yield bucket
    finally:
        process.join()


class _Service:
    """The log and the commands of a bucket's process."""

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self._moto = DomainDispatcherApplication(create_backend_app)
        self._conditional = threading.Lock()
        self.put_in_order()

    def __call__(self, environ: Any, start_response: Any) -> Any:
        query = f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        self._requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"].removeprefix(f"/{BUCKET}/") + query))
        if len(self._requests) > self._n_most:
            start_response("503 Service Unavailable", [])
            return [b""]
        if environ.keys() & _CONDITIONS:
            with self._conditional:  # moto looks and puts in two steps: several of its threads may find nothing there
                return self._moto(environ, start_response)
        return self._moto(environ, start_response)

    def put_in_order(self) -> None:
        self.forget_requests()
        self.fail_after(float("inf"))
        self.list_in_pages_of(1000)

    def requests(self) -> list[tuple[str, str]]:
        return self._requests

    def forget_requests(self) -> None:
        self._requests: list[tuple[str, str]] = []

    def fail_after(self, n_requests: float) -> None:
        self._n_most = n_requests

    def list_in_pages_of(self, n_keys: int) -> None:
        os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = str(n_keys)


def _serve(orders: Connection, address: str, port: int) -> None:
    """Serve requests in threads until the other end of `orders` is closed."""
    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    class Silent(MotoRequestHandler):
        def log(self, *_: object) -> None: ...

    service = _Service()
    server = make_server(address, port, service, threaded=True, request_handler=Silent)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    orders.send(f"http://127.0.0.1:{server.server_port}")
    with suppress(EOFError):
        while True:
            name, *arguments = orders.recv()
            orders.send(getattr(service, name)(*arguments))
