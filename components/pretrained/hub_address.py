"""The address of the Hugging Face hub, from the variables that its own client reads."""

import os
from urllib.parse import urlsplit
from urllib.request import getproxies

from components.openai_server.access import UNUSABLE_PROXY

HUB = "https://huggingface.co"
ENDPOINT, TOKEN, OFFLINE = "HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE"


def hub_endpoint() -> str:
    """Return the address in HF_ENDPOINT, or the address of the public hub."""
    return os.environ.get(ENDPOINT, "").strip().rstrip("/") or HUB


def is_offline() -> bool:
    """Return True if HF_HUB_OFFLINE forbids requests."""
    return os.environ.get(OFFLINE, "").strip().lower() in ("1", "true", "yes", "on")


def hub_problems() -> list[str]:
    """Return one message if the hub's client cannot read HF_ENDPOINT or the proxy, else [].

    The client's own error may quote part of a password. It reads all proxies, even those that it does not use.
    """
    if not _is_readable(hub_endpoint()):
        return [
            f"the environment variable {ENDPOINT} is not a usable address, expected one such as {HUB}, without a "
            "password"
        ]
    proxies = getproxies()
    if is_offline() or proxies.get("no", "").strip() == "*":
        return []
    is_read = all(_is_readable(proxies.get(scheme, "")) for scheme in ("http", "https", "all"))
    return [] if is_read else [UNUSABLE_PROXY]


def _is_readable(address: str) -> bool:
    """Return False for an address whose port is not a number, as after an unescaped / in a password."""
    try:
        address = address.strip()
        urlsplit(address if "://" in address else f"http://{address}").port  # noqa: B018 - raises
    except ValueError:  # or an unclosed bracket
        return False
    return True
