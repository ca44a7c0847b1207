"""A local replacement for a Qdrant server, which searches with NumPy.

It answers our requests for collections by Qdrant's REST API: https://api.qdrant.tech.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import numpy as np


@dataclass
class Collection:
    """A collection: its configuration as received, and its vectors by id."""

    configuration: dict[str, Any]
    points: dict[int, list[float]] = field(default_factory=dict)

    @property
    def info(self) -> dict[str, Any]:
        """Description by the server. The graph is always complete."""
        params = {"vectors": self.configuration["vectors"]}
        names = ("deleted_threshold", "vacuum_min_vector_number", "default_segment_number", "flush_interval_sec")
        hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, **self.configuration["hnsw_config"]}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": 1,
            "points_count": len(self.points),
            "config": {"params": params, "hnsw_config": hnsw, "optimizer_config": dict.fromkeys(names, 0)},
            "payload_schema": {},
        }

    def nearest(self, search: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the best of all, with ties in any order."""
        ids = np.array(sorted(self.points, reverse=True))
        scores = np.array([self.points[i] for i in ids], dtype=np.float32) @ np.array(
            search["query"]["nearest"], np.float32
        )
        best = (-scores).argsort(kind="stable")[: search["limit"]]
        return [{"id": int(ids[i]), "version": 0, "score": float(scores[i])} for i in best]


class QdrantServer:
    """Collections of the server, and its requests: "PUT /collections/name/points", with the bodies."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.url = ""
        self.collections: dict[str, Collection] = {}
        self.requests: list[tuple[str, Any]] = []

    def n_requests(self, method: str, end: str) -> int:
        """Return the requests of one kind."""
        return sum(asked.startswith(method) and asked.endswith(end) for asked, _ in self.requests)

    def answer(self, method: str, path: str, body: Any, key: str) -> tuple[int, Any]:
        """The status, and the result."""
        self.requests.append((f"{method} {path}", body))
        if key != self.key:
            return 401, f"Must provide an API key, got {key}"
        _, _, name, *rest = path.split("/")
        if rest[:1] == ["points"]:
            return self._of_points(f"{method} {'/'.join(rest)}", name, body)
        return self._of_collections(" ".join([method, *rest]), name, body)

    def _of_collections(self, asked: str, name: str, body: Any) -> tuple[int, Any]:
        own = self.collections.get(name)
        if asked == "GET exists":
            return 200, {"exists": own is not None}
        if asked == "PUT" and own is None:
            self.collections[name] = Collection(body)
            return 200, True
        if asked == "PUT":
            return 409, f"Collection {name} already exists"
        if asked == "DELETE":
            return 200, self.collections.pop(name, None) is not None
        return (200, own.info) if own else (404, f"Collection {name} doesn't exist")

    def _of_points(self, asked: str, name: str, body: Any) -> tuple[int, Any]:
        own = self.collections.get(name)
        if own is None:
            return 404, f"Collection {name} doesn't exist"
        if asked == "PUT points":
            own.points.update((point["id"], point["vector"]) for point in body["points"])
            return 200, {"operation_id": 0, "status": "completed"}
        if asked == "POST points/count":
            return 200, {"count": len(own.points)}
        if asked == "POST points/query/batch":
            return 200, [{"points": own.nearest(search)} for search in body["searches"]]
        return 400, f"not known here: {asked}"


@contextmanager
def qdrant_server(key: str = "") -> Iterator[QdrantServer]:
    """Run a server within the context that requires this key ("" for none)."""
    server = QdrantServer(key)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            n_bytes = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(n_bytes)) if n_bytes else None
            path = urlsplit(self.path).path
            status, result = server.answer(self.command, path, body, self.headers.get("api-key", ""))
            reply = {"result": result, "status": "ok"} if status == 200 else {"status": {"error": result}}
            sent = json.dumps({**reply, "time": 0.0}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
