"""What the pictures of results have in common: text in SVG, in any script."""

import re
import unicodedata
from functools import lru_cache
from html import escape

from components.text.normalize import whole_characters

FONTS = "DejaVu Sans, Verdana, Noto Sans, Noto Sans CJK SC, PingFang SC, Microsoft YaHei, sans-serif"


@lru_cache(maxsize=10_000)
def text(plain: str) -> str:
    """As text of an XML file, which cannot hold control characters."""
    return escape(_NOT_IN_XML.sub("\ufffd", whole_characters(plain)))


_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@lru_cache(maxsize=10_000)
def text_width(label: str) -> int:
    """About how wide a row's label is: the fonts are those of the one who looks at it."""
    return round(sum(12 if is_wide_character(character) else 7 for character in label))


def is_wide_character(character: str) -> bool:
    """True for one that is as wide as two Latin letters."""
    return unicodedata.east_asian_width(character) in "WF"
