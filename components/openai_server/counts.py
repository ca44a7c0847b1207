"""Numbers of tokens in replies that nobody has checked."""

from typing import Any


def count_in(reply: Any, *path: str) -> int | None:
    """The number of tokens that a reply has under these names; None where it has none, or something that is no number
    of tokens: a text, a truth value, a negative number.
    """
    value = reply
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return as_count(value)


def as_count(value: Any) -> int | None:
    """A value that is a number of tokens; None for any other."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
