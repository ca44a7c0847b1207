"""The address of a server, the proxy on the way to it and the key for it."""

import os
import re
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from components.secrets.known import mark_variable
from components.secrets.mask import masked
from components.secrets.names import is_variable_name

OPENAI = "https://api.openai.com/v1"


def host_of(base_url: str) -> str:
    """Host and port of an address; those of OpenAI for ""."""
    return urlsplit(base_url or OPENAI).netloc


def key_in(variable: str) -> str:
    """Return the key in an environment variable, without a line break that a file or a shell left at its end; "" if
    unset. From now on, all messages and files hide it.
    """
    if not variable:
        return ""
    mark_variable(variable)
    return os.environ.get(variable, "").strip()


def mistakes_of_key(variable: str) -> list[str]:
    """Return what is wrong with a key that is not set, or that cannot be sent."""
    key = key_in(variable)
    if variable and not key:
        if not is_variable_name(variable):  # a key, perhaps: it is not repeated
            return [
                "api_key_env: expected the name of an environment variable that holds the key, such as OPENAI_API_KEY; "
                "no variable has the given name, which is not repeated here, as it may be the key itself"
            ]
        return [
            f"api_key_env: the environment variable {variable} is not set; set it (export {variable}=...), name "
            f'another, or take api_key_env="" for a server that wants no key'
        ]
    if not (key.isascii() and key.isprintable()):
        return [f"api_key_env: the key in {variable} holds characters that no HTTP header can; copy it again"]
    return []


def proxy_for(url: str) -> str | None:
    """Return the proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name for an address, None for none."""
    parts = urlsplit(url)
    proxies = getproxies()
    return None if proxy_bypass(parts.netloc) else proxies.get(parts.scheme, proxies.get("all")) or None


def mistakes_of_proxy(url: str) -> list[str]:
    """Return what is wrong with the proxy for an address. The proxy's own address, which may hold a password, is not
    repeated.
    """
    proxy = proxy_for(url)
    if proxy is None or _is_proxy(proxy):
        return []
    return [
        "the environment's proxy (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY) has no usable address; expected "
        "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with signs in the password such as / written as %2F"
    ]


def _is_proxy(address: str) -> bool:
    found = re.fullmatch(
        r"https?://(?:[^\s/?#@\[\]]*@)?(?:[^\s/?#@:\[\]]+|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?/?", address
    )
    return found is not None and int(found[1] or 1) in range(1, 1 << 16)


def mistakes_of_url(url: str, example: str = "http://localhost:8000/v1") -> list[str]:
    """An address that cannot be used, or that holds a secret."""
    if "@" in url:
        return ["base_url: holds a user name or password; give the key by api_key_env instead"]
    if "?" in url or "#" in url:  # the address goes into results, where a key in it could be read
        return [
            f'base_url: has a part behind "?" or "#", expected an address such as {example}; give a key by '
            "api_key_env instead"
        ]
    try:
        parts = urlsplit(url or OPENAI)
        usable = (
            not any(sign.isspace() for sign in url)
            and parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:  # a port that is not a number, a bracket that is not closed
        usable = False
    return [] if usable else [f"base_url: got {masked(url)!r}, expected one such as {example}"]
