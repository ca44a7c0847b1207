"""HTTP to one server: it sends a body, returns JSON, and raises a different exception for each kind of failure.

It does not use the `openai` package. A request takes 2.9 ms of CPU time there (openai 3.52), and 0.3 ms with aiohttp.
A model that answers 1,000 requests per second allows at most 1 ms per request.
"""

import asyncio
import errno
import ssl
from base64 import b64encode
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from components.errors import ComponentError
from components.json_value import Json
from components.openai_server.access import OPENAI, find_proxy, proxy_problems, read_api_key
from components.openai_server.body import ACCEPTED, MAX_BYTES, read_body
from components.openai_server.connector import clean_connector
from components.openai_server.origin import MAX_REDIRECTS, REDIRECTS, resolve_redirect
from components.openai_server.reply_reading import parse_body
from components.openai_server.server_errors import (
    BrokenProtocol,
    CertificateExpired,
    Disconnected,
    Encrypted,
    HttpError,
    Malformed,
    PlainHttp,
    Redirected,
    Refused,
    Unreachable,
    Untrusted,
    readable_text,
)

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_CONNECT_TIMEOUT_S = 10.0
_HANDSHAKE_TIMEOUT_S = 1.5
"""Limit for a handshake that only finds the cause of a failure. It counts towards the request's time."""
_HAS_EXPIRED = 10
"""OpenSSL's code for a certificate that has expired."""
_PLAIN_REASONS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
"""OpenSSL's reason codes, by version, for a server that answers without TLS."""
_RESET = (errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE)
_TLS_ALERT = r"b'\x15\x03"
"""The beginning of a TLS alert, as aiohttp shows it."""


class Connection:
    """Connections to a server, reused between requests. An asynchronous context manager for one event loop."""

    def __init__(self, base_url: str, api_key_env: str, key_scheme: str = "Bearer") -> None:
        """Store address and key. `base_url` "" stands for OpenAI; `api_key_env` "" for a server without a key.

        `key_scheme` is the scheme of HTTP authentication. "Basic" encodes the key, USER:PASSWORD.
        """
        self._scheme = key_scheme
        self.base_url = (base_url or OPENAI).rstrip("/")
        self._key = read_api_key(api_key_env)
        self._has_replied = False
        self._http: ClientSession

    async def __aenter__(self) -> "Connection":
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

        if problems := proxy_problems(self.base_url):
            raise ComponentError("; ".join(problems))
        headers = {"Content-Type": "application/json", "Accept-Encoding": ACCEPTED}
        if self._key:
            encoded = b64encode(self._key.encode()).decode() if self._scheme == "Basic" else self._key
            headers["Authorization"] = f"{self._scheme} {encoded}"
        self._http = ClientSession(
            # One connection per open request. The caller limits their number and their time.
            connector=clean_connector(make_ssl_context() if self.base_url.startswith("https") else True),
            timeout=ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT_S),
            headers=headers,
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,  # `read_body` decompresses, up to its limit
            proxy=find_proxy(self.base_url),  # `trust_env` would also read .netrc, in another thread, per request
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def post(self, path: str, body: bytes, max_bytes: int = MAX_BYTES) -> Json:
        """Return the server's JSON, unchecked. `path` is appended to the base address, e.g. "/chat/completions".

        Errors:

        - HttpError for a status of 400 or more, and its subclass Redirected for a redirect to another server;
        - Unreachable if no connection can be made (Refused if no server listens, Untrusted for a bad certificate,
          PlainHttp if it speaks HTTP, not HTTPS, Encrypted for the reverse);
        - Disconnected if the connection breaks, and its subclass BrokenProtocol for a reply that is not HTTP;
        - Malformed for a reply that is not JSON, and its subclass TooLarge for more than `max_bytes`.
        """
        import aiohttp

        try:
            reply, received = await self._follow_redirects(path, body, max_bytes)
        except aiohttp.ClientConnectorCertificateError as error:
            is_expired = getattr(error.certificate_error, "verify_code", None) == _HAS_EXPIRED
            raise (CertificateExpired if is_expired else Untrusted)(str(error)) from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            kind = Refused if _is_refused(error) else PlainHttp if _is_plain(error) else Unreachable
            raise kind(str(error) or type(error).__name__) from error
        except aiohttp.ClientHttpProxyError as error:
            raise HttpError(error.status, error.message, {}) from error
        except (aiohttp.ClientError, OSError) as error:
            raise await self._explain_break(error) from error
        if not reply.ok:
            raise HttpError(reply.status, _extract_error(received), dict(reply.headers))
        return parse_body(received)

    async def _explain_break(self, error: Exception) -> Exception:
        """Return our error for a connection that broke."""
        import aiohttp

        is_plain = self.base_url.startswith("http:")
        if isinstance(error, aiohttp.ClientResponseError):  # aiohttp set its status 400, not the server
            if is_plain and _TLS_ALERT in error.message:
                return Encrypted("it answered with a TLS alert")
            return BrokenProtocol(error.message or type(error).__name__)
        text, is_before_reply = str(error) or type(error).__name__, getattr(error, "errno", None) in _RESET
        if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
            # aiohttp's texts contain reprs of objects
            is_before_reply = isinstance(error, aiohttp.ServerDisconnectedError) and isinstance(error.message, str)
            hint = ", or it expects https://" if is_plain and is_before_reply else ""
            text = f"the server closed the connection before its reply was complete{hint}"
        if is_before_reply and await self._is_encrypted():
            return Encrypted("it closed the connection, but accepts TLS")
        return Disconnected(text)

    async def _follow_redirects(self, path: str, body: bytes, max_bytes: int) -> "tuple[ClientResponse, bytes]":
        """Return the reply after redirects within the server, and its body."""
        address = self.base_url + path
        for _ in range(MAX_REDIRECTS + 1):
            async with self._http.post(address, data=body, allow_redirects=False) as reply:
                location = reply.headers.get("location") if reply.status in REDIRECTS else None
                self._has_replied = True
                if location is None:
                    return reply, await read_body(reply, max_bytes)
                address = resolve_redirect(address, reply.status, location)
        raise Redirected(reply.status, f"redirects more than {MAX_REDIRECTS} times. Check the path of base_url.")

    async def _is_encrypted(self) -> bool:
        """Return True if a server that drops http:// connections starts a TLS handshake. No request is sent.

        Returns False for a server that has replied before, and for one behind a proxy.
        """
        host = urlsplit(self.base_url)
        if self._has_replied or host.scheme != "http" or find_proxy(self.base_url):
            return False
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            async with asyncio.timeout(_HANDSHAKE_TIMEOUT_S):
                _, writer = await asyncio.open_connection(host.hostname, host.port or 80, ssl=context)
        except ssl.SSLError as error:
            return "ALERT" in (error.reason or "")
        except OSError:  # also TimeoutError
            return False
        writer.transport.abort()
        return True


def _is_refused(error: Exception) -> bool:
    """Look for the error number in the text: for a host with several addresses, such as localhost with IPv4 and IPv6,
    the error has a combined text only.
    """
    return f"[Errno {errno.ECONNREFUSED}]" in str(getattr(error, "os_error", ""))


def _is_plain(error: Exception) -> bool:
    """Return True if a server answered a TLS handshake without TLS."""
    return getattr(getattr(error, "os_error", None), "reason", None) in _PLAIN_REASONS


def _extract_error(received: bytes) -> object:
    """Return the object under "error" in the body, or the whole body; the text of a body that is not JSON."""
    try:
        body = parse_body(received)
    except Malformed:
        return readable_text(received)
    return body.get("error", body) if isinstance(body, dict) else body


def make_ssl_context() -> ssl.SSLContext:
    """Return a context that trusts the certificates of the system, which may include a company's, and certifi's as a
    fallback.
    """
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
