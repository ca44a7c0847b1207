"""The address of a server and the key for it."""

import os
from urllib.parse import urlsplit

OPENAI = "https://api.openai.com/v1"


def host_of(base_url: str) -> str:
    """Host and port of an address; those of OpenAI for ""."""
    return urlsplit(base_url or OPENAI).netloc


def key_in(variable: str) -> str:
    """The key in an environment variable, without a line break that a file or a shell left at its end; "" if unset."""
    return os.environ.get(variable, "").strip() if variable else ""


def mistakes_of_key(variable: str) -> list[str]:
    """A key that is not there, or that cannot be sent."""
    key = key_in(variable)
    if variable and not key:
        return [
            f"api_key_env: the environment variable {variable} is not set; set it (export {variable}=...), name "
            f'another, or take api_key_env="" for a server that wants no key'
        ]
    if not (key.isascii() and key.isprintable()):
        return [f"api_key_env: the key in {variable} holds characters that no HTTP header can; copy it again"]
    return []


def mistakes_of_url(url: str, example: str = "http://localhost:8000/v1") -> list[str]:
    """An address that cannot be used, or that holds a secret."""
    if "@" in url:
        return ["base_url: holds a user name or password; give the key by api_key_env instead"]
    if "?" in url or "#" in url:  # the address goes into results, where a key in it could be read
        return [
            f'base_url: has a part behind "?" or "#", wanted an address such as {example}; give a key by '
            "api_key_env instead"
        ]
    try:
        parts = urlsplit(url or OPENAI)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, a bracket that is not closed
        usable = False
    return [] if usable else [f"base_url: got {url!r}, wanted one such as {example}"]
