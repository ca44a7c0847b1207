"""A bucket for tests: moto's S3 on this machine, which notes every request."""

import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

BUCKET = "rag-grid-tests"


@dataclass
class Bucket:
    """One that is served. `requests` are the method and the path of each, below the bucket; after so many of them the
    service is out of order.
    """

    endpoint: str
    is_out_of_order_after: float = float("inf")
    requests: list[tuple[str, str]] = field(default_factory=list)

    @property
    def environment(self) -> Mapping[str, str]:
        """What obstore wants to know."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_REGION": "us-east-1",
        }

    def address(self, prefix: str) -> str:
        """Of a store in the bucket."""
        return f"s3://{BUCKET}/{prefix}"

    def asked(self) -> Counter[tuple[str, str]]:
        """How often each (method, first folder) was asked for since the last time."""
        counts = Counter((method, path.split("/")[1] if "/" in path else path) for method, path in self.requests)
        self.requests.clear()
        return counts


@contextmanager
def served_bucket(address: str = "127.0.0.1", port: int = 0) -> Iterator[Bucket]:
    """Serves an empty bucket by threads of this process; `address` is 0.0.0.0 for one that other hosts reach."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)
    bucket = Bucket("")

    def counted(environ, start_response):  # type: ignore[no-untyped-def]
        query = f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        bucket.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"].removeprefix(f"/{BUCKET}/") + query))
        if len(bucket.requests) > bucket.is_out_of_order_after:
            start_response("503 Service Unavailable", [])
            return [b""]
        return application(environ, start_response)

    class Silent(MotoRequestHandler):
        def log(self, *_: object) -> None: ...

    server = make_server(address, port, counted, threaded=True, request_handler=Silent)
    bucket.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        urllib.request.urlopen(urllib.request.Request(f"{bucket.endpoint}/{BUCKET}", method="PUT"))
        bucket.requests.clear()
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
