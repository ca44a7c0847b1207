"""Reading what a model replied when it was asked for JSON: fenced, chatty, slightly broken, or a bare value.

Everything here gives None for what cannot be read, never a default. Whether a value is a legal one is for the caller.
"""

import re
import unicodedata
from typing import Any

_BARE_VALUE = re.compile(r"[^\w+\-−－]*([+\-−－]?\w+)\W*")
_HALF_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""Half of a character, as a JSON escape: no file could hold it."""

_WHOLE_NUMBER = re.compile(r"([+-]?\d+)(?:\.0+)?\s*分?")
_FLAGS = {"true": True, "yes": True, "是": True, "1": True, "false": False, "no": False, "否": False, "0": False}


def read_object(text: str, key: str) -> dict[str, Any] | None:
    """The last JSON object of a reply that has `key`; a reply that is one bare value is taken as {key: value}.

    Thoughts, fences and talk around the object are ignored; quotes, commas and brackets that are not quite JSON are
    mended, and full-width ones read as ASCII where nothing is found otherwise.
    """
    for value in json_values(text):
        if isinstance(value, dict) and key in value:
            return value
    bare = _BARE_VALUE.fullmatch(without_thoughts(text))
    return {key: bare[1]} if bare else None


def json_values(text: str) -> list[Any]:
    """JSON objects and lists in a reply, the likeliest first: the whole of it, then its parts from the last one on."""
    from json_repair import loads

    shown = _HALF_ESCAPE.sub("", without_thoughts(text))
    found: list[Any] = []
    for version in (shown, unicodedata.normalize("NFKC", shown)):
        value = loads(version)
        found += [value, *reversed(value)] if isinstance(value, list) else [value]
    return [value for value in found if isinstance(value, dict | list)]


def without_thoughts(text: str) -> str:
    """A reply without what stands between <think> and </think>; either of the two may be missing."""
    return text.rpartition("</think>")[2].partition("<think>")[0].strip()


def whole_number(value: object) -> int | None:
    """A number such as 2, 2.0, "2", "２" or "2分" (two points)."""
    if isinstance(value, bool):
        return None
    number = _WHOLE_NUMBER.fullmatch(unicodedata.normalize("NFKC", str(value)).replace("−", "-").strip())
    return int(number[1]) if number else None


def flag(value: object) -> bool | None:
    """True or False, also as a word or a digit."""
    return _FLAGS.get(unicodedata.normalize("NFKC", str(value)).strip().lower())
