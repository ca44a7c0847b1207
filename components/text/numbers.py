"""Punctuation that belongs to numbers: signs, decimal points, signs of powers of ten.

Texts are in lower case and NFKC, so that digits, points and percent signs are ASCII. Marks that belong to a number
become separate characters, so that all other punctuation can be removed afterwards.
"""

import re

POINT, MINUS = "\ue000", "\ue001"
"""Placeholders for the marks of numbers, in Unicode's private use area."""

_DASH = "[-\u2212\u2013]"
_CURRENCY = r"(?:[a-z]{0,3}[$€£¥₩₹₽₺₫฿]\s?)"
_NO_SPACES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Characters of scripts that put no space before a number."""

_SIGN = re.compile(rf"(?:(?<![\w.)\]%])|(?<=[{_NO_SPACES}])){_DASH}(?P<currency>{_CURRENCY}?)(?=\.?\d)")
_RANGE = re.compile(
    r"\d[年月日号时点分秒元角万亿千百十倍度个米克吨美港欧斤岁天周次位人名份件股笔户家只张套辆台条项]{1,3}$"
)
"""Text before the dash of a range, as in 10万-20万, or of a difference, as in 26.5亿份-22.0亿份."""
_INTRODUCES_VALUE = frozenset("为是约达到至于了从由近超即得比率值额润幅降跌减升增涨温差和与或及は")
_QUANTITY = re.compile(r"[\d,]*\.\d|[\d,]+\s?(?:[%‰°]|个百分点|[百千万亿元倍度分])")

_POWER_OF_TEN = re.compile(rf"(?<![a-z\d.])(\d+(?:\.\d+)?e){_DASH}(?=\d)")
_THOUSANDS = re.compile(r"(?<![\d.])(?<!\d,)\d{1,3}(?:,\d{3})+(?!,?\d)")
_LEADING_POINT = re.compile(r"(?<![\w.)\]%])\.(?=\d)")
_DECIMAL_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_BETWEEN_DIGITS = re.compile(rf"(?<=\d)[^\w\s{POINT}{MINUS}]+(?={MINUS}?\d)|(?<=\d)(?={MINUS})")
_RESTORED = str.maketrans({POINT: ".", MINUS: "-"})
_MAX_NUMBER_CHARACTERS = 40


def mark_numbers(text: str) -> str:
    """Return the text with `POINT` and `MINUS` for the marks of its numbers. `restore_numbers` reverts this.

    A number keeps its value: its sign (also before a currency, -$5), its point (.5 gets a zero) and the sign of its
    power of ten. 1,000 becomes 1000. Other marks between digits (1,2 or 1/2 or 10:30) become spaces. After a letter or
    digit, a dash is never a sign. A dash after a Chinese, Japanese or Korean character is a sign if the character
    introduces a value (为-3) or a quantity follows (-3.5 or -3%). Otherwise it belongs to a name (图-160) or a range
    (10万-20万).
    """
    text = _POWER_OF_TEN.sub(rf"\1{MINUS}", text)
    text = _SIGN.sub(_sign, text)
    text = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)
    text = _LEADING_POINT.sub(f"0{POINT}", text)
    text = _DECIMAL_POINT.sub(POINT, text)
    return _BETWEEN_DIGITS.sub(" ", text)


def restore_numbers(text: str) -> str:
    """Return the text with the marks of its numbers in their usual form."""
    return text.translate(_RESTORED)


def _sign(dash: re.Match[str]) -> str:
    """Return the currency, if there is one, followed by the sign, so that -$5 and $-5 are equal."""
    text, start = dash.string, dash.start()
    behind_character = start > 0 and text[start - 1].isalnum()
    if behind_character and not dash["currency"] and not _is_value(text, start, dash.end()):
        return dash[0]
    return f"{dash['currency']}{MINUS}"


def _is_value(text: str, dash: int, number: int) -> bool:
    """Return True if the number after a character and a dash is negative: neither the end of a range nor part of a
    name.
    """
    if _RANGE.search(text[max(0, dash - 4) : dash]):
        return False
    return text[dash - 1] in _INTRODUCES_VALUE or bool(_QUANTITY.match(text[number : number + _MAX_NUMBER_CHARACTERS]))
