"""A stand-in for OpenSearch and Elasticsearch, which answers `POST /index/_search` with a match or a k-NN search.

Requests and replies have the form of the servers' REST API. It is not a real server.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

Document = dict[str, Any]


@dataclass
class SearchIndex:
    """An index `passages` of documents with `text` and `embedding`. `replies` are sent before its own ones."""

    documents: dict[str, Document]
    authorization: str = ""
    replies: list[tuple[int, Any]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, body: Any, authorization: str) -> tuple[int, Any]:
        """Return the status and the reply."""
        self.bodies.append(body)
        if self.replies:
            return self.replies.pop(0)
        if authorization != self.authorization:
            return 401, _error("security_exception", f"unable to authenticate with {authorization}")
        if path != "/passages/_search":
            name = path.split("/")[1]
            return 404, _error("index_not_found_exception", f"no such index [{name}]")
        scores = self._scores(body)
        if isinstance(scores, str):
            return 400, _error("query_shard_exception", scores)
        best = sorted(scores, key=lambda an_id: (-scores[an_id], an_id))[: body.get("size", 10)]
        hits = [
            {"_index": "passages", "_id": an_id, "_score": scores[an_id], "_source": self.documents[an_id]}
            for an_id in best
        ]
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        total = {"value": len(scores), "relation": "eq"}
        return 200, {"took": 1, "timed_out": False, "_shards": shards, "hits": {"total": total, "hits": hits}}

    def _scores(self, body: Any) -> dict[str, float] | str:
        if "match" in body.get("query", {}):
            ((name, text),) = body["query"]["match"].items()
            asked = _words(text)
            shared = {an_id: len(asked & _words(own[name])) for an_id, own in self.documents.items()}
            return {an_id: float(n) for an_id, n in shared.items() if n}
        knn = body.get("knn") or {"query_vector": body["query"]["knn"]["embedding"]["vector"]}
        vector = np.array(knn["query_vector"])
        own = {an_id: np.array(document["embedding"]) for an_id, document in self.documents.items()}
        if wrong := {len(each) for each in own.values()} - {len(vector)}:
            return f"Query vector has invalid dimension: {len(vector)}. Dimension should be: {max(wrong)}"
        return {an_id: float(vector @ each) for an_id, each in own.items()}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _error(kind: str, reason: str) -> Any:
    return {"error": {"root_cause": [{"type": kind, "reason": reason}], "type": kind, "reason": reason}}


@contextmanager
def search_server(index: SearchIndex) -> Iterator[SearchIndex]:
    """Serve an index on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, reply = index.answer(self.path, body, self.headers.get("Authorization", ""))
            sent = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
