"""Address of a store in a bucket: `s3://bucket/prefix`. Credentials come only from the environment."""

import importlib.util
import os
import re
from urllib.parse import urlsplit

from components.errors import MissingExtraError

_SCHEMES = ("s3", "gs", "az")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def is_bucket(address: str) -> bool:
    """Return True if an address denotes a bucket rather than a folder."""
    return "://" in address


def address_problems(address: str) -> list[str]:
    """Return one message per error in the address of a store and per missing package, [] for a valid folder. Sends no
    request.

    An address that may contain a secret is not repeated.
    """
    if not is_bucket(address):
        return _misspelled_bucket(address)
    parts = urlsplit(address)
    if parts.scheme not in _SCHEMES:
        schemes = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        return [f"got {parts.scheme}://, expected a folder, or a bucket: {schemes}"]
    if "@" in parts.netloc or parts.query or parts.fragment:
        return [
            "contains a user name, a key or a query; credentials belong in the environment (for s3: AWS_ACCESS_KEY_ID, "
            f"AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL), expected {parts.scheme}://bucket/prefix"
        ]
    if not parts.netloc or any(name in (".", "..") for name in parts.path.split("/")):
        return [f"got {address!r}, expected {parts.scheme}://bucket/prefix"]
    if importlib.util.find_spec("obstore") is None:
        return [str(MissingExtraError("obstore", "s3", address))]
    return _endpoint_problems() if parts.scheme == "s3" else []


def _misspelled_bucket(folder: str) -> list[str]:
    """Return an error message for the address of a bucket that lacks a slash. [] for a folder."""
    scheme, colon, rest = folder.partition(":")
    if not colon or not (scheme in _SCHEMES or (re.fullmatch(r"[a-z]\w+", scheme) and rest.startswith("/"))):
        return []
    bucket = f"{scheme if scheme in _SCHEMES else _SCHEMES[0]}://{rest.strip('/') or 'bucket/prefix'}"
    return [f"got {folder!r}, expected a folder, or a bucket: {bucket} (a folder of that name is ./{folder})"]


def _endpoint_problems() -> list[str]:
    """Return one message per error in the service's address in the environment. No message shows the address, which may
    contain a password.
    """
    return [
        f"the environment variable {name} holds no URL of a service, expected http://HOST:PORT or https://HOST"
        for name in _ENDPOINTS
        if (value := os.environ.get(name)) and not re.match(r"https?://[^/]", value)
    ]
