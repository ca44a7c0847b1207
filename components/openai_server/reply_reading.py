"""Reading replies: it repairs harmless defects and rejects the others as Malformed.

A server may send any value under any name. Unpaired surrogates become U+FFFD, and an impossible number of tokens counts
as not reported. A list in place of text, a vector with a word in it, and endlessly nested JSON are rejected. A rejected
reply is requested again, like any other temporary failure.
"""

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.openai_server.server_errors import Malformed, WebPage, format_preview
from components.text.normalize import whole_characters

_MAX_TOKENS = 10**9
"""More tokens than any request uses. Columns of tables have 64 bits, and sums of many counts must fit."""


def parse_body(received: bytes) -> Json:
    """Return the JSON of a body, without unpaired surrogates in its strings. Raises Malformed for a body that is not
    JSON (WebPage for HTML), or is nested too deeply.
    """
    try:
        text = received.decode(json.detect_encoding(received), "surrogatepass")
        value = json.loads(text)
        # Surrogates appear as escapes or as non-ASCII bytes. Vectors, which are long, have neither.
        return _repair_surrogates(value) if "\\u" in text or not text.isascii() else value
    except (ValueError, RecursionError) as error:
        kind = WebPage if received.lstrip().startswith(b"<") else Malformed
        raise kind(format_preview(received) or "nothing") from error


def _repair_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [_repair_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {whole_characters(name): _repair_surrogates(item) for name, item in value.items()}
    return value


def read_member(reply: object, *path: str) -> Json:
    """Return the value under nested names, None if the last one is missing or null. Raises Malformed if a value on the
    way is not an object.
    """
    value = reply
    for name in path:
        if not isinstance(value, dict):
            raise Malformed(f"{format_preview(reply)}, expected {'.'.join(path)} in it")
        value = value.get(name)
    return value


def get_text(reply: object, *path: str) -> str:
    """Return the string under nested names, "" if it is missing or null. Raises Malformed for other values."""
    value = read_member(reply, *path)
    if value is not None and not isinstance(value, str):
        raise Malformed(f"{'.'.join(path)} is {format_preview(value)}, expected a string")
    return value or ""


def get_objects(reply: object, *path: str) -> list[dict[str, Json]]:
    """Return the list of objects under nested names.

    Raises Malformed for a missing or another value, and for an error beside it: routers send one with status 200 when
    the provider behind them failed.
    """
    value = read_member(reply, *path)
    if isinstance(reply, dict) and reply.get("error"):
        raise Malformed(format_preview(reply))
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Malformed(f"{format_preview(reply)}, expected a list of objects{' as ' if path else ''}{'.'.join(path)}")
    return value


def to_float_array(rows: Sequence[object]) -> NDArray[np.float32]:
    """Return float32 of a list of numbers, or of lists of numbers with equal lengths. Raises Malformed for other
    values, and for numbers that are not finite in 32 bits.
    """
    try:
        values = np.array(rows)
    except (OverflowError, RecursionError, TypeError, ValueError) as error:
        raise Malformed(f"{format_preview(rows)}, expected rows of numbers of equal length") from error
    has_booleans = any(bool in set(map(type, row if isinstance(row, list) else [row])) for row in rows)
    if values.dtype.kind not in "fiu" or has_booleans:  # among numbers, NumPy reads true as 1
        raise Malformed(f"{format_preview(rows)}, expected numbers")
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    if not np.isfinite(narrow).all():
        raise Malformed(f"{format_preview(rows)}, expected finite numbers")
    return narrow


def in_order(items: list[dict[str, Json]], n_expected: int, *, without_indexes: bool = False) -> list[dict[str, Json]]:
    """Return objects sorted by `index`, which must run from 0 to n_expected - 1. Gemini leaves out an index of 0.

    With `without_indexes`, objects without any index are in order. Raises Malformed for other indexes.
    """
    if without_indexes and len(items) == n_expected and not any("index" in item for item in items):
        return items
    indexes = [item.get("index", 0) for item in items]
    are_numbers = all(isinstance(index, int | float) and not isinstance(index, bool) for index in indexes)
    if not are_numbers or sorted(indexes) != list(range(n_expected)):
        raise Malformed(f"results with indexes {format_preview(indexes)}, expected 0 to {n_expected - 1}, each once")
    return [item for _, item in sorted(zip(indexes, items, strict=True), key=lambda pair: pair[0])]


def read_count(reply: object, *path: str) -> int | None:
    """Return the number of tokens under nested names, None if it is missing or is not a number of tokens."""
    value = reply
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return parse_count(value)


def parse_count(value: object) -> int | None:
    """Return a value that is a number of tokens. Return None for other values: strings, booleans, negative numbers,
    and numbers beyond any request.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_TOKENS:
        return value
    return None
