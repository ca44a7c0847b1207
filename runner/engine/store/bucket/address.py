"""Which bucket a store is in: `s3://bucket/prefix`. Who may use it is said by the environment, and nowhere else."""

import importlib.util
from urllib.parse import urlsplit

from components.errors import MissingExtraError

_SCHEMES = ("s3", "gs", "az")


def is_bucket(address: str) -> bool:
    """Whether an address is meant as that of a bucket, and not as a folder."""
    return "://" in address


def address_mistakes(address: str) -> list[str]:
    """What is wrong with the address of a store, by its letters alone, and with this installation; nothing for a
    folder. An address that holds what must not be shown is not repeated.
    """
    if not is_bucket(address):
        return []
    parts = urlsplit(address)
    if parts.scheme not in _SCHEMES:
        wanted = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        return [f"got {parts.scheme}://, wanted a folder, or a bucket: {wanted}"]
    if "@" in parts.netloc or parts.query or parts.fragment:
        return [
            "holds a user name, a key or a query; credentials belong in the environment (for s3: AWS_ACCESS_KEY_ID, "
            f"AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL), wanted {parts.scheme}://bucket/prefix"
        ]
    if not parts.netloc or any(name in (".", "..") for name in parts.path.split("/")):
        return [f"got {address!r}, wanted {parts.scheme}://bucket/prefix"]
    if importlib.util.find_spec("obstore") is None:
        return [str(MissingExtraError("obstore", "s3", address))]
    return []
