"""HTTP to one server: a body out, JSON in, and one exception for each way in which that can end otherwise.

Not the `openai` package: a request through it takes 2.9 ms of a core (measured with openai 3.52), through aiohttp
0.3 ms, and a model that answers 1,000 requests a second leaves no more than 1 ms for each.
"""

import errno
import ssl
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from components.openai_server.access import OPENAI, key_in
from components.openai_server.errors import Disconnected, HttpError, Malformed, Refused, Unreachable
from components.openai_server.reading import parsed

if TYPE_CHECKING:
    from aiohttp import ClientSession

_CONNECT_TIMEOUT_S = 10.0


class Connection:
    """The way to a server, kept open between requests. An asynchronous context manager; lives in one event loop."""

    def __init__(self, base_url: str, api_key_env: str) -> None:
        """`base_url` "" is OpenAI's own; `api_key_env` "" is for a server that wants no key."""
        self.base_url = (base_url or OPENAI).rstrip("/")
        self._key = key_in(api_key_env)
        self._http: ClientSession

    async def __aenter__(self) -> "Connection":
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._http = ClientSession(
            # As many connections as the caller has requests under way, who also keeps the time of each.
            connector=TCPConnector(limit=0, ssl=_trusted() if self.base_url.startswith("https") else True),
            timeout=ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT_S),
            headers=headers,
            cookie_jar=DummyCookieJar(),
            proxy=_proxy_for(self.base_url),  # `trust_env` would also read .netrc, in another thread, at each request
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def post(self, path: str, body: bytes) -> Any:
        """What the server sent as JSON, whatever it is. `path` follows the base address, e.g. "/chat/completions".

        Raises HttpError for a status of 400 or more, Unreachable (Refused if nobody listens there) or Disconnected for
        a connection that cannot be made or breaks, and Malformed for what is no JSON.
        """
        import aiohttp

        try:
            async with self._http.post(self.base_url + path, data=body) as reply:
                received = await reply.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            kind = Refused if _is_refused(error) else Unreachable
            raise kind(str(error) or type(error).__name__) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Disconnected(str(error) or type(error).__name__) from error
        if not reply.ok:
            raise HttpError(reply.status, _said(received), dict(reply.headers))
        return parsed(received)


def _is_refused(error: Exception) -> bool:
    """By the text: of several addresses of a host (localhost has one for IPv6 too) the errors are told as one."""
    return f"[Errno {errno.ECONNREFUSED}]" in str(getattr(error, "os_error", ""))


def _said(received: bytes) -> Any:
    """What the body of an error holds: the object under "error", if it has one, or the text that it is."""
    try:
        body = parsed(received)
    except Malformed:
        return received.decode(errors="replace")
    return body.get("error", body) if isinstance(body, dict) else body


def _proxy_for(url: str) -> str | None:
    """As HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY say; None for no proxy."""
    parts = urlsplit(url)
    proxies = getproxies()
    return None if proxy_bypass(parts.netloc) else proxies.get(parts.scheme, proxies.get("all"))


def _trusted() -> ssl.SSLContext:
    """Certificates of the system, which has a company's own, and certifi's, for a system that has none."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
