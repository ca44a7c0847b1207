"""Citations in an answer: numbers of passages in brackets, as in [1], [2, 3] or 【1】."""

import re
from dataclasses import dataclass
from itertools import pairwise

from components.text.normalize import is_word_character
from components.text.sentences import sentence_ends

_NUMBERS = r"\d{1,3}(?:\s*[,，、;；\-–~～]\s*\d{1,3})*"  # no year has three digits
_MARK = rf"[\[［【]\s*{_NUMBERS}\s*[\]］】]"
_MARKS = re.compile(_MARK)
_SPACED_MARK = re.compile(rf"(?:(?<![^\S\n])[^\S\n]++)?{_MARK}")
_RANGE = re.compile(r"(\d+)\s*[\-–~～]\s*(\d+)")
_STOP = "[。！？；.!?;]"
_BEHIND_A_STOP = re.compile(rf"(?<!{_STOP})({_STOP}++)((?:[^\S\n]*+{_MARK})+)")
"""Possessive, and from where a run begins: a model that repeats itself writes thousands of stops or blanks in a row."""


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer, and the numbers that it cites, each once, in order of appearance."""

    text: str
    cited: tuple[int, ...]


def statements(answer: str) -> list[Statement]:
    """The sentences of an answer that say something besides their citations. Marks behind a full stop belong to the
    sentence that it ends, unless the answer begins with a mark: then each stands before what it is for. Marks on a line
    of their own belong to the sentence before.
    """
    text = answer.strip()
    if not _MARKS.match(text):
        text = _BEHIND_A_STOP.sub(r"\2\1", text)
    said: list[Statement] = []
    for start, end in pairwise([0, *sentence_ends(text).tolist()]):
        sentence = text[start:end].strip()
        if any(map(is_word_character, without_citations(sentence))):
            said.append(Statement(sentence, _cited(sentence)))
        elif said:
            before = said[-1]
            said[-1] = Statement(before.text, tuple(dict.fromkeys([*before.cited, *_cited(sentence)])))
    return said


def without_citations(text: str) -> str:
    """A text without its marks and the blanks before them."""
    return _SPACED_MARK.sub("", text)


def _cited(text: str) -> tuple[int, ...]:
    numbers: dict[int, None] = {}
    for mark in _MARKS.findall(text):
        ranges = _RANGE.findall(mark)
        spelt_out = [number for first, last in ranges for number in range(int(first), int(last) + 1)]
        numbers |= dict.fromkeys([*spelt_out, *map(int, re.findall(r"\d+", mark))])
    return tuple(numbers)
