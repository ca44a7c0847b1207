"""Small requests to a server before the run, for its health and its models. One attempt each, with size limits."""

from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import URLError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from components.openai_server.origin import resolve_redirect
from components.openai_server.server_errors import Redirected
from components.secrets.mask import mask_text

_MAX_BYTES = 16 << 20


class LookUpFailed(Exception):
    """The server did not answer with status 200. The message is masked."""


class _SameOriginRedirects(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        resolve_redirect(req.full_url, 302 if code == 303 else code, newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch_body(address: str, timeout_s: float, *, uses_proxy: bool = True) -> bytes:
    """Return the body at an HTTP address, at most 16 MiB.

    `uses_proxy` is False for a server on this machine. Raises LookUpFailed if the server does not answer, sends more,
    or redirects to another server.
    """
    proxies = [] if uses_proxy else [ProxyHandler({})]
    try:
        with build_opener(_SameOriginRedirects, *proxies).open(address, timeout=timeout_s) as reply:
            body: bytes = reply.read(_MAX_BYTES + 1)
    except Redirected as error:
        raise LookUpFailed(str(error.body)) from None
    except (URLError, OSError, HTTPException, ValueError) as error:
        raise LookUpFailed(mask_text(str(error)) or type(error).__name__) from None
    if len(body) > _MAX_BYTES:
        raise LookUpFailed(f"sent more than {_MAX_BYTES >> 20} MiB")
    return body
