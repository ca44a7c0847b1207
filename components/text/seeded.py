"""Pseudorandom numbers derived from texts. They are equal in all processes and independent of other texts."""

from hashlib import sha256


def seeded_number(text: str) -> int:
    """Return a pseudorandom number in [0, 2**64): the first bytes of the text's SHA-256."""
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def seeded_fraction(text: str) -> float:
    """Return a pseudorandom number in [0, 1)."""
    return seeded_number(text) / 2**64
