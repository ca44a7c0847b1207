"""The state of a sweep as a page that reloads itself, served to browsers on this machine."""

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from analysis.report.report_page import report_environment
from analysis.watch.sweep_watcher import ONLY_FINISHED, WatchedSweep, Watcher
from components.errors import DataError

HOST = "127.0.0.1"
_TEMPLATES = Path(__file__).parent / "templates"
_RELOAD_S = 3

_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def render(watched: WatchedSweep) -> str:
    """Return the HTML of the page, which needs no other file. All data are escaped."""
    template = report_environment(_TEMPLATES).get_template("watch.html.j2")
    return template.render(watched=watched, reload_s=_RELOAD_S, only_finished=ONLY_FINISHED)


def make_server(watcher: Watcher, port: int) -> ThreadingHTTPServer:
    """Return a server of the page at this port of the loopback address, 0 for a free one.

    Raises DataError if we cannot listen at the port.
    """
    lock = Lock()

    def page() -> str:
        with lock:
            return render(watcher.look())

    try:
        server = ThreadingHTTPServer((HOST, port), _handler(page))
    except (OSError, OverflowError) as error:
        raise DataError(
            f"--serve {port}: cannot listen ({error}). Choose another port, or leave the port out."
        ) from error
    server.daemon_threads = True
    return server


def _handler(page: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET / with the page. Logs nothing."""

        timeout = 10
        server_version, sys_version = "rag-grid", ""

        def do_GET(self) -> None:
            _, port = self.connection.getsockname()
            # DNS rebinding: another site can point its own name at this machine, and its pages could then read ours.
            if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):
                self._answer(
                    HTTPStatus.MISDIRECTED_REQUEST, "Wrong Host header. Open the address that the command printed."
                )
            elif self.path != "/":
                self._answer(HTTPStatus.NOT_FOUND, "There is only one page, at /.")
            else:
                try:
                    self._answer(HTTPStatus.OK, page())
                except DataError:
                    self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "The sweep's files cannot be read now.")

        def _answer(self, status: HTTPStatus, text: str) -> None:
            content = text.encode(errors="backslashreplace")
            with suppress(ConnectionError):  # the browser closed the connection
                self.send_response(status)
                for name, value in _HEADERS.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
