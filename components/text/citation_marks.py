"""Citations in an answer: numbers of passages in brackets, as in [1], [2, 3] or 【1】."""

import re
from dataclasses import dataclass
from itertools import pairwise

from components.text.normalize import is_word_character
from components.text.sentences import sentence_ends

_NUMBERS = r"\d{1,3}(?:\s*[,，、;；\-–~～]\s*\d{1,3})*"  # at most three digits, so that years do not match
_MARK = rf"[\[［【]\s*{_NUMBERS}\s*[\]］】]"
_MARKS = re.compile(_MARK)
_SPACED_MARK = re.compile(rf"(?:(?<![^\S\n])[^\S\n]++)?{_MARK}")
_RANGE = re.compile(r"(\d+)\s*[\-–~～]\s*(\d+)")
_STOP = "[。！？；.!?;]"
_BEHIND_A_STOP = re.compile(rf"(?<!{_STOP})({_STOP}++)((?:[^\S\n]*+{_MARK})+)")
"""Possessive and anchored at the start of a run, because repetitive models write thousands of stops in a row."""


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer, and the distinct numbers that it cites, in order of appearance."""

    text: str
    cited: tuple[int, ...]


def statements(answer: str) -> list[Statement]:
    """Return the sentences of an answer that contain text besides their citations.

    Marks after a full stop belong to the sentence that it ends. If the answer begins with a mark, marks belong to the
    sentence after them instead. Marks on a separate line belong to the sentence before.
    """
    text = answer.strip()
    if not _MARKS.match(text):
        text = _BEHIND_A_STOP.sub(r"\2\1", text)
    result: list[Statement] = []
    for start, end in pairwise([0, *sentence_ends(text).tolist()]):
        sentence = text[start:end].strip()
        if any(map(is_word_character, strip_citations(sentence))):
            result.append(Statement(sentence, _cited_numbers(sentence)))
        elif result:
            before = result[-1]
            result[-1] = Statement(before.text, tuple(dict.fromkeys([*before.cited, *_cited_numbers(sentence)])))
    return result


def strip_citations(text: str) -> str:
    """Return a text without its marks and the spaces before them."""
    return _SPACED_MARK.sub("", text)


def _cited_numbers(text: str) -> tuple[int, ...]:
    numbers: dict[int, None] = {}
    for mark in _MARKS.findall(text):
        ranges = _RANGE.findall(mark)
        numbers_of_ranges = [number for first, last in ranges for number in range(int(first), int(last) + 1)]
        numbers |= dict.fromkeys([*numbers_of_ranges, *map(int, re.findall(r"\d+", mark))])
    return tuple(numbers)
