"""Reads what a model replied when it was asked for JSON: fenced, wrapped in talk, slightly broken, or a bare value.

What cannot be read gives None, never a default. Whether a value is legal is for the caller to decide.
"""

import re
import unicodedata
from typing import Any

from components.text.brackets import depth_of_brackets
from components.text.thoughts import split_thoughts

_BARE_VALUE = re.compile(r"[^\w+\-−－]*([+\-−－]?\w+)\W*")
_HALF_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""One half of a surrogate pair as a JSON escape; models break pairs apart, and no UTF-8 file could hold the half."""

_EXAMPLE = re.compile(r"\b(?:examples?|e\.g|format|form|template|such as|like)\b|例|格式|形如|模板|样式", re.IGNORECASE)
_UNABLE = re.compile(
    r"\b(?:I|we)\b[^.!?\n]{0,20}(?:can(?:no|')t|can not|unable|could(?: no|n')t)\b"
    r"|(?:无法|不能|难以)(?:作出|做出|给出|进行)?(?:判断|评判|评分|打分|评估|评价)",
    re.IGNORECASE,
)
"""A model that takes back what it wrote before, or never meant it."""

_OPENED = re.compile(r"[{｛][^{｛]*$")
"""An object up to where the text ends."""

_DEEPEST = 100
"""Brackets within each other, or not closed at all. A model that repeats itself opens thousands, for each of which the
repair goes through the rest.
"""

_WORDS_FOLLOW = re.compile(r"[^\w{\[\n]*\w")
_TAG = re.compile(r"<[^>]*>")

_WHOLE_NUMBER = re.compile(r"([+-]?\d{1,18})(?:\.0+)?\s*分?")  # of thousands of digits Python makes no number
_FLAGS = {"true": True, "yes": True, "是": True, "1": True, "false": False, "no": False, "否": False, "0": False}


def read_object(text: str, key: str) -> dict[str, Any] | None:
    """The last JSON object in a reply that has `key`; a reply that is one bare value is read as {key: value}.

    Thoughts, fences and talk around the object are ignored, unless they say that it is no reply: see `_is_meant`.
    Quotes, commas and brackets that are not quite JSON are repaired, and full-width ones are read as ASCII if nothing
    is found otherwise.
    """
    shown = without_thoughts(text)
    for value in json_values(text):
        if isinstance(value, dict) and key in value:
            return value if _is_meant(shown, key, is_alone=len(value) == 1) else None
    bare = _BARE_VALUE.fullmatch(shown)
    return {key: bare[1]} if bare else None


def _is_meant(reply: str, key: str, *, is_alone: bool) -> bool:
    """Whether the last object with `key` is what the model replies, and not something that it only writes about: an
    example or the form that was asked for, a value in the middle of a sentence (`is_alone`: it lacks the reason that
    was asked for too), or one before the words that it cannot judge. To ask again costs little, a wrong grade much.
    """
    places = list(re.finditer(rf"\b{key}[\"'”’＂]?\s*[:：]", reply))
    if not places:
        return True
    before = _OPENED.sub("", reply[: places[-1].start()])
    after = reply[places[-1].end() :].replace("｝", "}").partition("}")[2]
    in_a_sentence = is_alone and _WORDS_FOLLOW.match(_without_tags(after))
    return not (_EXAMPLE.search(_lead_in(before)) or _UNABLE.search(after) or in_a_sentence)


def _without_tags(text: str) -> str:
    """Takes linear time: no tag ends behind the last ">", and the pattern would look for the end of each "<"."""
    end = text.rfind(">") + 1
    return _TAG.sub("", text[:end]) + text[end:]


def _lead_in(before: str) -> str:
    """What announces an object: the words before it on its line, or else the line before, fences aside, if it ends with
    a colon.
    """
    *earlier, own = before.split("\n")
    lines = [line.strip() for line in earlier if line.strip() and not line.lstrip().startswith("```")]
    if own.strip() or not lines:
        return own
    return lines[-1] if lines[-1].endswith((":", "：")) else ""


def json_values(text: str) -> list[Any]:
    """JSON objects and lists in a reply, the likeliest first: the whole of it, then its parts from the last to the
    first, because models draft before they conclude. Nothing is found in one that is nested too deeply to be read.
    """
    from json_repair import loads

    shown = _HALF_ESCAPE.sub("", without_thoughts(text))
    found: list[Any] = []
    for version in (shown, unicodedata.normalize("NFKC", shown)):
        if depth_of_brackets(version) > _DEEPEST:
            continue
        try:
            value = loads(version)
        except (RecursionError, ValueError):  # a number of thousands of digits
            continue
        found += [value, *reversed(value)] if isinstance(value, list) else [value]
    return [value for value in found if isinstance(value, dict | list)]


def without_thoughts(text: str) -> str:
    """A reply without what is between <think> and </think>; either tag may be missing."""
    return split_thoughts(text)[1]


def whole_number(value: object) -> int | None:
    """A number such as 2, 2.0, "2", "２" or "2分" (two points); None for anything else."""
    if isinstance(value, bool):  # to Python, True is the number 1
        return None
    number = _WHOLE_NUMBER.fullmatch(unicodedata.normalize("NFKC", str(value)).replace("−", "-").strip())
    return int(number[1]) if number else None


def flag(value: object) -> bool | None:
    """True or False, also given as a word or a digit; None for anything else."""
    return _FLAGS.get(unicodedata.normalize("NFKC", str(value)).strip().lower())
