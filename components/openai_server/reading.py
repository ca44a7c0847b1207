"""The one reader of replies: mends what can be mended, and refuses the rest as Malformed.

A server may send anything under any name. Halves of surrogate pairs become U+FFFD, and a number of tokens that no
request can take counts as not reported. Text that is a list, a vector with a word in it or JSON without end is refused:
a refused reply is asked for again like any other failure that may go away.
"""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.openai_server.errors import Malformed, shown
from components.text.normalize import whole_characters

_MOST_TOKENS = 10**9
"""More than any request takes. Columns of tables hold 64 bits, and sums of many counts must fit too."""


def parsed(received: bytes) -> Any:
    """The JSON of a body, with all strings in whole characters. Raises Malformed for a body that is no JSON, or that is
    nested too deeply to be read.
    """
    try:
        text = received.decode(json.detect_encoding(received), "surrogatepass")
        value = json.loads(text)
        # Halves come as escapes, or as bytes that are no ASCII. Vectors, which are long, have neither.
        return _mended(value) if "\\u" in text or not text.isascii() else value
    except (ValueError, RecursionError) as error:
        raise Malformed(shown(received) or "nothing") from error


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {whole_characters(name): _mended(item) for name, item in value.items()}
    return value


def part_of(reply: Any, *path: str) -> Any:
    """The value under these names, each within the one before; None where the last one is missing or null. Raises
    Malformed where the way there leads through something that is no object.
    """
    value = reply
    for name in path:
        if not isinstance(value, dict):
            raise Malformed(f"{shown(reply)}, expected {'.'.join(path)} in it")
        value = value.get(name)
    return value


def text_in(reply: Any, *path: str) -> str:
    """A text; "" where it is missing or null. Raises Malformed for anything else."""
    value = part_of(reply, *path)
    if value is not None and not isinstance(value, str):
        raise Malformed(f"{'.'.join(path)} is {shown(value)}, expected a text")
    return value or ""


def objects_in(reply: Any, *path: str) -> list[dict[str, Any]]:
    """A list of objects. Raises Malformed for anything else, an object that is missing included."""
    value = part_of(reply, *path)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Malformed(f"{shown(reply)}, expected a list of objects{' as ' if path else ''}{'.'.join(path)}")
    return value


def numbers_of(rows: list[Any]) -> NDArray[np.float32]:
    """float32 of a list of numbers, or of lists of them that have one length. Raises Malformed for anything else, and
    for numbers that are not finite in 32 bits.
    """
    try:
        values = np.array(rows)
    except (OverflowError, RecursionError, TypeError, ValueError) as error:
        raise Malformed(f"{shown(rows)}, expected numbers, and as many in each row") from error
    if values.dtype.kind not in "fiu":
        raise Malformed(f"{shown(rows)}, expected numbers")
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    if not np.isfinite(narrow).all():
        raise Malformed(f"{shown(rows)}, expected finite numbers")
    return narrow


def in_order(items: list[dict[str, Any]], n_wanted: int) -> list[dict[str, Any]]:
    """Objects by their `index`, which must be 0 to n_wanted - 1. Raises Malformed for others."""
    indexes = [item.get("index") for item in items]
    try:
        ordered = sorted(items, key=lambda item: item["index"])
    except (KeyError, TypeError) as error:
        raise Malformed(f"results with the indexes {shown(indexes)}, expected 0 to {n_wanted - 1}") from error
    if [item["index"] for item in ordered] != list(range(n_wanted)):
        raise Malformed(f"results with the indexes {shown(indexes)}, expected 0 to {n_wanted - 1}")
    return ordered


def count_in(reply: Any, *path: str) -> int | None:
    """The number of tokens that a reply has under these names; None where it has none, or something that is no number
    of tokens.
    """
    value = reply
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return as_count(value)


def as_count(value: Any) -> int | None:
    """A value that is a number of tokens; None for any other: a text, a truth value, a number below 0 or beyond what
    any request takes.
    """
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if is_count else None
