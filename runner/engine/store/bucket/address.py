"""Which bucket a store is in: `s3://bucket/prefix`. Who may use it is said by the environment, and nowhere else."""

import importlib.util
import os
import re
from urllib.parse import urlsplit

from components.errors import MissingExtraError

_SCHEMES = ("s3", "gs", "az")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def is_bucket(address: str) -> bool:
    """Whether an address is meant as that of a bucket, and not as a folder."""
    return "://" in address


def address_mistakes(address: str) -> list[str]:
    """What is wrong with the address of a store, by its letters alone, and with this installation; nothing for a
    folder. An address that holds what must not be shown is not repeated.
    """
    if not is_bucket(address):
        return _slips(address)
    parts = urlsplit(address)
    if parts.scheme not in _SCHEMES:
        wanted = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        return [f"got {parts.scheme}://, expected a folder, or a bucket: {wanted}"]
    if "@" in parts.netloc or parts.query or parts.fragment:
        return [
            "holds a user name, a key or a query; credentials belong in the environment (for s3: AWS_ACCESS_KEY_ID, "
            f"AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL), expected {parts.scheme}://bucket/prefix"
        ]
    if not parts.netloc or any(name in (".", "..") for name in parts.path.split("/")):
        return [f"got {address!r}, expected {parts.scheme}://bucket/prefix"]
    if importlib.util.find_spec("obstore") is None:
        return [str(MissingExtraError("obstore", "s3", address))]
    return _endpoint_mistakes() if parts.scheme == "s3" else []


def _slips(folder: str) -> list[str]:
    """An address of a bucket with a slash too few is no folder."""
    scheme, colon, rest = folder.partition(":")
    if not colon or not (scheme in _SCHEMES or (re.fullmatch(r"[a-z]\w+", scheme) and rest.startswith("/"))):
        return []
    bucket = f"{scheme if scheme in _SCHEMES else _SCHEMES[0]}://{rest.strip('/') or 'bucket/prefix'}"
    return [f"got {folder!r}, expected a folder, or a bucket: {bucket} (a folder of that name is ./{folder})"]


def _endpoint_mistakes() -> list[str]:
    """What is wrong with the address of the service, which the environment gives; it may hold a password."""
    return [
        f"the environment's {name} is no address of a service; expected http://HOST:PORT or https://HOST"
        for name in _ENDPOINTS
        if (value := os.environ.get(name)) and not re.match(r"https?://[^/]", value)
    ]
