"""Redirects: we follow them to other paths of the same server, never to another server."""

from urllib.parse import urljoin, urlsplit

from components.openai_server.server_errors import Redirected
from components.secrets.mask import mask_text

REDIRECTS = (301, 302, 303, 307, 308)
MAX_REDIRECTS = 5

_PORTS = {"http": 80, "https": 443}
_ASKS_FOR_A_PAGE = 303


def resolve_redirect(address: str, status: int, location: str) -> str:
    """Return the address that a redirect leads to.

    Raises Redirected if its origin (scheme, host or port) differs, if it cannot be parsed, or if the server does not
    want the request to be repeated.
    """
    try:
        target = urljoin(address, location.strip())
        here, there = parse_origin(address), parse_origin(target)
    except ValueError:  # a port that is not a number, an unclosed bracket
        raise Redirected(status, "redirects to an address that cannot be parsed") from None
    if here != there:
        raise Redirected(
            status,
            mask_text(
                f"{here} redirects to {there}, another server, which got neither the request nor the key. To use "
                "that server, give its address as base_url"
            ),
        )
    if status == _ASKS_FOR_A_PAGE:
        raise Redirected(status, f"{here} redirects to a page, expected an answer. Check the path of base_url.")
    return target


def parse_origin(address: str) -> str:
    """Return scheme, host and port, such as `https://host:443`. Raises ValueError if the address cannot be parsed."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host:
        return f"{parts.scheme}:"
    bracketed = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{bracketed}:{parts.port or _PORTS[parts.scheme]}"
