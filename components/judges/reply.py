"""Reads what a model replied when it was asked for JSON: fenced, wrapped in talk, slightly broken, or a bare value.

What cannot be read gives None, never a default. Whether a value is legal is for the caller to decide.
"""

import re
import unicodedata
from typing import Any

_BARE_VALUE = re.compile(r"[^\w+\-−－]*([+\-−－]?\w+)\W*")
_HALF_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""One half of a surrogate pair as a JSON escape; models break pairs apart, and no UTF-8 file could hold the half."""

_WHOLE_NUMBER = re.compile(r"([+-]?\d+)(?:\.0+)?\s*分?")
_FLAGS = {"true": True, "yes": True, "是": True, "1": True, "false": False, "no": False, "否": False, "0": False}


def read_object(text: str, key: str) -> dict[str, Any] | None:
    """The last JSON object in a reply that has `key`; a reply that is one bare value is read as {key: value}.

    Thoughts, fences and talk around the object are ignored. Quotes, commas and brackets that are not quite JSON are
    repaired, and full-width ones are read as ASCII if nothing is found otherwise.
    """
    for value in json_values(text):
        if isinstance(value, dict) and key in value:
            return value
    bare = _BARE_VALUE.fullmatch(without_thoughts(text))
    return {key: bare[1]} if bare else None


def json_values(text: str) -> list[Any]:
    """JSON objects and lists in a reply, the likeliest first: the whole of it, then its parts from the last to the
    first, because models draft before they conclude.
    """
    from json_repair import loads

    shown = _HALF_ESCAPE.sub("", without_thoughts(text))
    found: list[Any] = []
    for version in (shown, unicodedata.normalize("NFKC", shown)):
        value = loads(version)
        found += [value, *reversed(value)] if isinstance(value, list) else [value]
    return [value for value in found if isinstance(value, dict | list)]


def without_thoughts(text: str) -> str:
    """A reply without what is between <think> and </think>; either tag may be missing."""
    return text.rpartition("</think>")[2].partition("<think>")[0].strip()


def whole_number(value: object) -> int | None:
    """A number such as 2, 2.0, "2", "２" or "2分" (two points); None for anything else."""
    if isinstance(value, bool):  # to Python, True is the number 1
        return None
    number = _WHOLE_NUMBER.fullmatch(unicodedata.normalize("NFKC", str(value)).replace("−", "-").strip())
    return int(number[1]) if number else None


def flag(value: object) -> bool | None:
    """True or False, also given as a word or a digit; None for anything else."""
    return _FLAGS.get(unicodedata.normalize("NFKC", str(value)).strip().lower())
