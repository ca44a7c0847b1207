"""Texts as tokenizers read them: with composed letters, and without invisible characters inside words.

Files of macOS and some PDF files spell é as e and an accent. Pages and books break long words with soft hyphens. Both
look like the word that a user types, so tokenizers must find the same word in them.
"""

import re
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from components.records import Words

_WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer, which separate words by nothing or by a space without a width."""
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Chinese characters, as the inside of a class of a regular expression."""
_INVISIBLE = (
    "[\u00ad\u2060\ufeff]"
    rf"|(?<=[^\W{HAN}])\u200b(?=[^\W{HAN}{_WITHOUT_SPACES}])|(?<=[{HAN}])\u200b(?=[{HAN}])"
)
"""Invisible characters. A zero-width space counts only inside a word."""
HANGUL_PARTS = "\u1160-\u11ff"
"""Vowels and final consonants that compose with the Korean letter before them."""


@cache
def marks() -> str:
    """Return the accents, vowel signs and other marks that belong to the letter before them, as the inside of a class
    of a regular expression.

    The marks of scripts without spaces are left out. There, a mark is the nearest thing to the end of a word. Marks
    that enclose or only choose a glyph, as in emoji, belong to no word.
    """
    outside_words = re.compile(f"[{_WITHOUT_SPACES}\u034f\ufe00-\ufe0f]")
    assigned = map(chr, range(0x300, 0x1EA00))
    codes = [
        ord(character)
        for character in assigned
        if unicodedata.category(character) in ("Mn", "Mc") and not outside_words.match(character)
    ]
    starts = [code for code, before in zip(codes, [0, *codes], strict=False) if code != before + 1]
    ends = [code for code, after in zip(codes, [*codes[1:], sys.maxunicode], strict=True) if after != code + 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


def word_letters() -> str:
    """Return the regular expression of a run of letters and digits, each with its marks."""
    return rf"[^\W_]++(?:[{marks()}]++[^\W_]*+)*+"


@cache
def _invisible() -> "re.Pattern[str]":
    return re.compile(_INVISIBLE)


@cache
def _clusters() -> "re.Pattern[str]":
    """Return the pattern of everything that can change: letters with their marks, and single characters above ASCII."""
    following = f"[{marks()}{HANGUL_PARTS}]"
    return re.compile(rf"(?P<invisible>{_INVISIBLE})|[\s\S]{following}+|[^\x00-\x7f]")


@dataclass(frozen=True)
class _Composed:
    """A composed text. Its character i stands for the characters [start[i], end[i]) of the text itself, int32."""

    text: str
    start: NDArray[np.int32]
    end: NDArray[np.int32]


def find_words(texts: Sequence[str], split: Callable[[str], Words]) -> Iterator[Words]:
    """Yield the words that `split` finds in the composed form of each text, as the text spells them."""
    for text in texts:
        if _is_composed(text):
            yield split(text)
        else:
            composed = _compose(text)
            words = split(composed.text)
            start, end = composed.start[words.start], composed.end[words.end - 1]
            yield Words([text[a:b] for a, b in zip(start, end, strict=True)], start, end)


def _is_composed(text: str) -> bool:
    return text.isascii() or (unicodedata.is_normalized("NFC", text) and not _invisible().search(text))


def _compose(text: str) -> _Composed:
    pieces: list[str] = []
    starts, ends = array("i"), array("i")
    done = 0

    def keep_until(place: int) -> None:
        pieces.append(text[done:place])
        starts.extend(range(done, place))
        ends.extend(range(done + 1, place + 1))

    for cluster in _clusters().finditer(text):
        start, end = cluster.span()
        composed = "" if cluster["invisible"] else unicodedata.normalize("NFC", cluster[0])
        if composed != cluster[0]:
            keep_until(start)
            pieces.append(composed)
            starts.extend([start] * len(composed))
            ends.extend([end] * len(composed))
            done = end
    keep_until(len(text))
    return _Composed("".join(pieces), np.array(starts, dtype=np.int32), np.array(ends, dtype=np.int32))
