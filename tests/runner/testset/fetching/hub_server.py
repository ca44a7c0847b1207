"""A server on this machine that speaks the protocol of the Hugging Face hub, with a second one for the content."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

COMMIT, QRELS_COMMIT = "a1" * 20, "b2" * 20
TEXTS, JUDGEMENTS = "BeIR/scifact", "BeIR/scifact-qrels"


def lines(*records: dict[str, object]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


CORPUS = lines(
    {"_id": "d1", "title": "Bridge", "text": "It was opened in 1932. " * 400},
    {"_id": "d2", "title": "", "text": "The harbour is deep."},
)
QUERIES = lines(
    {"_id": "q1", "text": "When was it opened?", "metadata": {}},
    {"_id": "q2", "text": "A query of another split"},
    {"_id": "q3", "text": "How deep is it?"},
)
QRELS = b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq3\td2\t1\n"


@dataclass
class HubServer:
    """Repositories by name: the commit, and the content of files by path. The other fields make it misbehave."""

    url: str = ""
    repositories: dict[str, tuple[str, dict[str, bytes]]] = field(
        default_factory=lambda: {
            TEXTS: (
                COMMIT,
                {
                    "README.md": b"",
                    "corpus.jsonl.gz": gzip.compress(CORPUS, mtime=0),
                    "queries.jsonl.gz": gzip.compress(QUERIES, mtime=0),
                },
            ),
            JUDGEMENTS: (QRELS_COMMIT, {"test.tsv": QRELS}),
        }
    )
    cut: dict[str, list[int]] = field(default_factory=dict)
    """Bytes after which the next replies with a file end."""
    corrupted: list[str] = field(default_factory=list)
    """Files whose next reply has one wrong byte."""
    content_url: str = ""
    """Server that the hub redirects to for content."""
    named_commit: str = ""
    """Commit that replies with content name, instead of the right one."""
    status: int = 200
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def ranges(self, path: str) -> list[str]:
        """Return the requested ranges of a file."""
        return [headers.get("range", "") for address, headers in self.requests if address.endswith(path)]


def described(commit: str, files: dict[str, bytes]) -> bytes:
    """Return the hub's description of a repository. Compressed and Parquet files are in its storage of large files."""
    siblings = []
    for path, content in files.items():
        entry: dict[str, object] = {"rfilename": path, "size": len(content)}
        if path.endswith((".gz", ".parquet")):
            entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
        else:
            entry["blobId"] = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
        siblings.append(entry)
    return json.dumps({"sha": commit, "cardData": {"license": "cc-by-sa-4.0"}, "siblings": siblings}).encode()


@contextmanager
def hub_server(*, content_elsewhere: bool = False) -> Iterator[HubServer]:
    """A hub; with `content_elsewhere` the content comes from another server, whose requests are listed with its own."""
    hub = HubServer()
    with _serving(hub) as hub.url:
        if not content_elsewhere:
            yield hub
            return
        with _serving(hub) as hub.content_url:
            yield hub


@contextmanager
def _serving(hub: HubServer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(hub, self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(hub: HubServer, handler: BaseHTTPRequestHandler) -> None:
    path = handler.path.partition("?")[0]
    headers = {name.lower(): value for name, value in handler.headers.items()}
    here = f"http://127.0.0.1:{handler.server.server_address[1]}"
    hub.requests.append((here + path, headers))
    if hub.status != 200:
        return _send(handler, hub.status, b"")
    for name, (commit, files) in hub.repositories.items():
        if path in (f"/api/datasets/{name}/revision/{revision}" for revision in ("main", commit)):
            return _send(handler, 200, described(commit, files))
        prefix = f"/datasets/{name}/resolve/{commit}/"
        file = path.removeprefix(prefix)
        if path.startswith(prefix) and file in files:
            named = {"X-Repo-Commit": hub.named_commit or commit}
            if hub.content_url and here == hub.url:
                return _send(handler, 302, b"", {**named, "Location": f"{hub.content_url}{path}?signature=1"})
            return _send_content(hub, handler, file, files[file], named)
    return _send(handler, 404, b"")


def _send_content(
    hub: HubServer, handler: BaseHTTPRequestHandler, file: str, content: bytes, named: dict[str, str]
) -> None:
    asked = handler.headers.get("Range", "")
    start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
    if file in hub.corrupted:
        hub.corrupted.remove(file)
        content = content[:-1] + bytes([content[-1] ^ 1])
    sent = content[start:]
    n_sent = hub.cut[file].pop(0) if hub.cut.get(file) else len(sent)
    if asked:
        named = {**named, "Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
    _send(handler, 206 if asked else 200, sent[:n_sent], {**named, "Content-Length": str(len(sent))})


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True
