"""Facts that a quote must share with its document, however similar the rest is: numbers and negations.

The lists cover Chinese and English wordings. They apply to both texts of a comparison. A superfluous word in a list
(`percent` ends like `isn't` without its apostrophe) therefore makes a comparison stricter, never wrong.
"""

import re
import unicodedata
from functools import cache

from components.text.numbers import MINUS, POINT, mark_numbers

CHINESE_NUMERALS = "〇零一二三四五六七八九十百千万亿兆两半倍成壹贰叁肆伍陆柒捌玖拾佰仟廿卅"
CHINESE_NEGATIONS = "不没沒无無未非否勿毋莫"

_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion "
    "first second third half quarter once twice double triple percent"
).split()
_NEGATING_WORDS = "no not never none neither nor nobody nothing nowhere without cannot hardly barely scarcely".split()
_NUMBER = re.compile(
    rf"[{MINUS}+±]?\d+(?:{POINT}\d+)*[%‰]?|[%‰]|[{CHINESE_NUMERALS}]+"
    rf"|(?<![a-z])(?:{'|'.join(_NUMBER_WORDS)})s?(?![a-z])"
)
_PERCENT = re.compile("[%‰]")
_NEGATION = re.compile(
    rf"[{CHINESE_NEGATIONS}]|(?<![a-z])(?:(?:{'|'.join(_NEGATING_WORDS)})(?![a-z])|[a-z]+n['’]?t(?![a-z])"
    r"|(?:un|in|im|ir|il|dis|non|mis)[a-z]+|[a-z]+less(?![a-z]))"
)
_CHINESE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MEANINGLESS_BLANK = re.compile(
    rf"(?<=[{_CHINESE}])\s+|\s+(?=[{_CHINESE}])|(?<=[\d.,])\s+(?=[\d.,%‰])|[\u00ad\u200b-\u200f\u2060\ufeff]"
)
"""Whitespace next to Chinese characters and within numbers, and invisible characters."""

_NUMERIC = re.compile(rf"[\d{CHINESE_NUMERALS}%‰]")
_NUMBER_GOES_ON = re.compile(rf"[.,]?\d|\s*[%‰]|[{CHINESE_NUMERALS}]")
_SIGN_OF_NUMBER = re.compile(r"(?:^|[^\w.)\]%])[-\u2212\u2013+±][$€£¥]?$|\d[.,]$|(?:^|[^\w.])\.$")
_NEGATED = re.compile(rf"[{CHINESE_NEGATIONS}]\s*$|(?:\b(?:{'|'.join(_NEGATING_WORDS)})|n['’]t)\s+$", re.IGNORECASE)
_MARKS_THEN_NUMBER = re.compile(rf"([^\w%‰]*)[\d%‰{CHINESE_NUMERALS}]")
_MARKS_THEN_WORD = re.compile(r"([^\w%‰]*)[\w%‰]")
_N_BESIDE = 16


def numbers(text: str) -> list[str]:
    """Return the numbers of a text in order: in digits, in Chinese numerals and in English words.

    Numbers in digits have their sign, point and percent sign, without thousands separators and whitespace.
    """
    # A percent sign between two numbers would be dropped with the marks next to it.
    return _NUMBER.findall(mark_numbers(_PERCENT.sub(r"\g<0> ", _plain(text))))


def negations(text: str) -> list[str]:
    """Return the negating words of a text in order; in Chinese, the negating characters."""
    return [word.replace("'", "").replace("’", "") for word in _NEGATION.findall(_plain(text))]


def _plain(text: str) -> str:
    return _MEANINGLESS_BLANK.sub("", _narrow(text).lower())


def have_same_facts(one: str, other: str) -> bool:
    """Return True if two texts have the same digits, numbers and negations, in the same order."""
    return _digits(one) == _digits(other) and numbers(one) == numbers(other) and negations(one) == negations(other)


def _digits(text: str) -> list[str]:
    """Return all digits. A leading zero, as in 0.5, does not change a number, but it changes a quote."""
    return [character for character in _narrow(text) if character.isdigit()]


def is_cut_off(text: str, start: int, end: int) -> bool:
    """Return True if text[start:end] begins or ends within a number or a word of letters, or next to a negation."""
    before = _narrow(text[max(0, start - _N_BESIDE) : start])
    after = _narrow(text[end : end + _N_BESIDE])
    inner = _narrow(text[start:end])
    if not inner:
        return True
    if (_is_letter(before[-1:]) and _is_letter(inner[0])) or (_is_letter(inner[-1]) and _is_letter(after[:1])):
        return True
    if _NUMERIC.match(inner) and _NUMERIC.match(before[-1:]):
        return True
    if inner[0].isdigit() and _SIGN_OF_NUMBER.search(before):
        return True
    if _NUMERIC.match(inner[-1]) and _NUMBER_GOES_ON.match(after):
        return True
    return _NEGATED.search(before) is not None or after[:1] in frozenset(CHINESE_NEGATIONS)


def is_number_left_out(quote: str, text: str, start: int, end: int) -> bool:
    """Return True if the text has a number where the quote has only marks: "(level )." for "(level 3).".

    text[start:end] must have the same words as the quote.
    """
    before, after = text[max(0, start - _N_BESIDE) : start], text[end : end + _N_BESIDE]
    first, last = quote[:_N_BESIDE], quote[-_N_BESIDE:]
    return _number_is_nearer(_narrow(before)[::-1], _narrow(first)) or _number_is_nearer(
        _narrow(after), _narrow(last)[::-1]
    )


def _number_is_nearer(beside: str, quote: str) -> bool:
    """Return True if fewer marks precede the first number of `beside` than the first word of the quote."""
    number, word = _MARKS_THEN_NUMBER.match(beside), _MARKS_THEN_WORD.match(quote)
    return number is not None and word is not None and _n_shown(number[1]) < _n_shown(word[1])


def _narrow(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _n_shown(marks: str) -> int:
    return len("".join(marks.split()))


@cache
def _is_letter(character: str) -> bool:
    """Return True for a letter of a script with spaces between words."""
    return character.isalpha() and unicodedata.name(character, "").startswith(("LATIN", "GREEK", "CYRILLIC"))
