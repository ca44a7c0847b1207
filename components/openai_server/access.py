"""The address of a server, its API key, and the proxy in between."""

import os
import re
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from components.secrets.known import mark_variable
from components.secrets.mask import mask_text
from components.secrets.names import is_variable_name

OPENAI = "https://api.openai.com/v1"

UNUSABLE_PROXY = (
    "the environment's proxy (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY) has no usable address, expected http://HOST:PORT. "
    "Write USER:PASSWORD@ before HOST if it needs them, with special characters encoded (/ as %2F)."
)
"""The message omits the proxy's address, which may contain a password."""


def extract_host(base_url: str) -> str:
    """Return host and port of an address; "" stands for OpenAI."""
    return urlsplit(base_url or OPENAI).netloc


def read_api_key(variable: str) -> str:
    """Return the API key from an environment variable, "" if it is not set.

    Whitespace at both ends, such as a line break from a file, is removed. The key is masked in all messages and files
    from now on.
    """
    if not variable:
        return ""
    mark_variable(variable)
    return os.environ.get(variable, "").strip()


def key_problems(variable: str) -> list[str]:
    """Return one message if the key is not set or cannot be sent, else []."""
    key = read_api_key(variable)
    if variable and not key:
        if not is_variable_name(variable):  # it may be the key itself, so the message does not show it
            return [
                "api_key_env: expected the name of an environment variable that holds the key, such as "
                "OPENAI_API_KEY; the given text is not such a name, and is not shown because it may be the key "
                "itself"
            ]
        return [
            f"api_key_env: the environment variable {variable} is not set. Set it (export {variable}=...), choose "
            'another variable, or use api_key_env="" for a server without a key. A plan (run.plan_only=true) sends '
            "nothing, so any value will do for it."
        ]
    if not (key.isascii() and key.isprintable()):
        return [
            f"api_key_env: the key in {variable} contains characters that HTTP headers do not allow. Copy it again."
        ]
    return []


def find_proxy(url: str) -> str | None:
    """Return the proxy for an address according to HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, else None."""
    parts = urlsplit(url)
    proxies = getproxies()
    return None if proxy_bypass(parts.netloc) else proxies.get(parts.scheme, proxies.get("all")) or None


def proxy_problems(url: str) -> list[str]:
    """Return one message if the proxy for an address is unusable, else []."""
    proxy = find_proxy(url)
    if proxy is None or _is_proxy(proxy):
        return []
    return [UNUSABLE_PROXY]


def _is_proxy(address: str) -> bool:
    match = re.fullmatch(
        r"https?://(?:[^\s/?#@\[\]]*@)?(?:[^\s/?#@:\[\]]+|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?/?", address
    )
    return match is not None and int(match[1] or 1) in range(1, 1 << 16)


def url_problems(url: str, example: str = "http://localhost:8000/v1") -> list[str]:
    """Return one message if an address is unusable or contains a secret, else []."""
    if "@" in url:
        return ["base_url: contains a user name or password. Use api_key_env for the key."]
    if "?" in url or "#" in url:  # results show the address, and it could contain a key
        return [
            f'base_url: has a part after "?" or "#", expected an address such as {example}. Use api_key_env for a key.'
        ]
    try:
        parts = urlsplit(url or OPENAI)
        usable = (
            not any(sign.isspace() for sign in url)
            and parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:  # a port that is not a number, an unclosed bracket
        usable = False
    return [] if usable else [f"base_url: got {mask_text(url)!r}, expected an address such as {example}"]
