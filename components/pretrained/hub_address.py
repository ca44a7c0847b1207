"""The address of the Hugging Face hub, from the variables that its own client reads."""

import os
from urllib.parse import urlsplit

from components.openai_server.access import proxy_problems

HUB = "https://huggingface.co"
ENDPOINT, TOKEN, OFFLINE = "HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE"


def hub_endpoint() -> str:
    """Return the address in HF_ENDPOINT, or the address of the public hub."""
    return os.environ.get(ENDPOINT, "").strip().rstrip("/") or HUB


def is_offline() -> bool:
    """Return True if HF_HUB_OFFLINE forbids requests."""
    return os.environ.get(OFFLINE, "").strip().lower() in ("1", "true", "yes", "on")


def hub_problems() -> list[str]:
    """Return one message if the hub's client could not use HF_ENDPOINT or the proxy, else [].

    The client quotes part of an address that it cannot read, which may be part of a password.
    """
    try:
        parts = urlsplit(hub_endpoint())
        is_usable = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, an unclosed bracket
        is_usable = False
    if not is_usable:
        return [f"the environment's {ENDPOINT} is not a usable address, expected one such as {HUB}, without a password"]
    return [] if is_offline() else proxy_problems(hub_endpoint())
