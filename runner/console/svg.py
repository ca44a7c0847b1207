"""Helpers for text in SVG figures, in any script."""

import re
import unicodedata
from functools import lru_cache
from html import escape

from components.text.normalize import whole_characters

FONTS = "DejaVu Sans, Verdana, Noto Sans, Noto Sans CJK SC, PingFang SC, Microsoft YaHei, sans-serif"


@lru_cache(maxsize=10_000)
def text(plain: str) -> str:
    """Escape a string for XML. Control characters, and those that reverse the direction of writing, are replaced."""
    return escape(_NOT_SHOWN.sub("\ufffd", whole_characters(plain)))


_NOT_SHOWN = re.compile(
    "[^\t\n\r\u0020-\u007e\u00a0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


@lru_cache(maxsize=10_000)
def text_width(label: str) -> int:
    """Estimate the width of a label in pixels. The actual fonts depend on the viewer."""
    return round(sum(12 if is_wide_character(character) else 7 for character in label))


def is_wide_character(character: str) -> bool:
    """Return True if a character is as wide as two Latin letters."""
    return unicodedata.east_asian_width(character) in "WF"
