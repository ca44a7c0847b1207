"""HTTP to one server: a body out, JSON in, and one exception for each way in which that can end otherwise.

Not the `openai` package: a request through it takes 2.9 ms of a core (measured with openai 3.52), through aiohttp
0.3 ms, and a model that answers 1,000 requests a second leaves no more than 1 ms for each.
"""

import errno
import ssl
from types import TracebackType
from typing import TYPE_CHECKING, Any

from components.errors import ComponentError
from components.openai_server.access import OPENAI, key_in, mistakes_of_proxy, proxy_for
from components.openai_server.body import ACCEPTED, MOST_BYTES, body_of
from components.openai_server.connector import clean_connector
from components.openai_server.errors import (
    BrokenProtocol,
    Disconnected,
    HttpError,
    Malformed,
    Redirected,
    Refused,
    Unreachable,
    Untrusted,
)
from components.openai_server.origin import MOST_REDIRECTS, REDIRECTS, next_address
from components.openai_server.reading import parsed

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_CONNECT_TIMEOUT_S = 10.0


class Connection:
    """The way to a server, kept open between requests. An asynchronous context manager; lives in one event loop."""

    def __init__(self, base_url: str, api_key_env: str) -> None:
        """`base_url` "" is OpenAI's own; `api_key_env` "" is for a server that wants no key."""
        self.base_url = (base_url or OPENAI).rstrip("/")
        self._key = key_in(api_key_env)
        self._http: ClientSession

    async def __aenter__(self) -> "Connection":
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

        if mistakes := mistakes_of_proxy(self.base_url):
            raise ComponentError("; ".join(mistakes))
        headers = {"Content-Type": "application/json", "Accept-Encoding": ACCEPTED}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._http = ClientSession(
            # As many connections as the caller has requests under way, who also keeps the time of each.
            connector=clean_connector(_trusted() if self.base_url.startswith("https") else True),
            timeout=ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT_S),
            headers=headers,
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,  # `body_of` does, and no further than its limit
            proxy=proxy_for(self.base_url),  # `trust_env` would also read .netrc, in another thread, at each request
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def post(self, path: str, body: bytes, most_bytes: int = MOST_BYTES) -> Any:
        """Return what the server sent as JSON, unchecked. `path` follows the base address, e.g. "/chat/completions".

        Raises HttpError for a status of 400 or more, Redirected for a redirect to another server, Unreachable (Refused
        if nobody listens there, Untrusted for its certificate) or Disconnected for a connection that cannot be made or
        breaks, BrokenProtocol for a reply that is not HTTP, TooLarge for a reply of more than `most_bytes`, and
        Malformed for a reply that is no JSON.
        """
        import aiohttp

        try:
            reply, received = await self._replied(path, body, most_bytes)
        except aiohttp.ClientConnectorCertificateError as error:
            raise Untrusted(str(error)) from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            kind = Refused if _is_refused(error) else Unreachable
            raise kind(str(error) or type(error).__name__) from error
        except aiohttp.ClientHttpProxyError as error:
            raise HttpError(error.status, error.message, {}) from error
        except aiohttp.ClientResponseError as error:  # its status 400 is aiohttp's own, and not the server's
            raise BrokenProtocol(error.message or type(error).__name__) from error
        except aiohttp.ServerDisconnectedError as error:  # which may carry the headers as an object
            raise Disconnected("the server closed the connection before its reply was whole") from error
        except (aiohttp.ClientError, OSError) as error:
            raise Disconnected(str(error) or type(error).__name__) from error
        if not reply.ok:
            raise HttpError(reply.status, _said(received), dict(reply.headers))
        return parsed(received)

    async def _replied(self, path: str, body: bytes, most_bytes: int) -> "tuple[ClientResponse, bytes]":
        """The reply behind the server's own redirects, with its body."""
        address = self.base_url + path
        for _ in range(MOST_REDIRECTS + 1):
            async with self._http.post(address, data=body, allow_redirects=False) as reply:
                location = reply.headers.get("location") if reply.status in REDIRECTS else None
                if location is None:
                    return reply, await body_of(reply, most_bytes)
                address = next_address(address, reply.status, location)
        raise Redirected(reply.status, f"redirects more than {MOST_REDIRECTS} times; check the path of base_url")


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


def _trusted() -> ssl.SSLContext:
    """Certificates of the system, which has a company's own, and certifi's, for a system that has none."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
