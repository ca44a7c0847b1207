"""Numbers that stand for texts, the same in every process: for choices that no other text changes."""

from hashlib import sha256


def number_of(text: str) -> int:
    """In [0, 2**64), as if drawn: the first bytes of its SHA-256."""
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def fraction_of(text: str) -> float:
    """In [0, 1)."""
    return number_of(text) / 2**64
