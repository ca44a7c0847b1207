"""Numbers in texts as values: in digits with units of ten thousand and percent signs, and in Chinese numerals."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

SCALES = {
    "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8, "十亿": 1e9, "百亿": 1e10, "千亿": 1e11, "万亿": 1e12,
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
}  # fmt: skip
_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_PERCENT = r"%|‰|个?百分点|percent(?:age points?)?\b|per cent\b"
_QUANTITY = re.compile(
    rf"(?<![a-z\d])(\d+(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:\s?({_SCALE}))?(?:\s?({_PERCENT}))?",
    re.IGNORECASE,
)
_MINUS = re.compile(r"(?:^|[^\w.)\]%])[-\u2212]\s?[$€£¥]?$|[为是达至于][-\u2212]$")
_DIGIT = "零〇一二两三四五六七八九"
_NUMERAL = re.compile(rf"(?<![\d.])(百分之)?([{_DIGIT}十][{_DIGIT}十百千万亿]*)(?:点([{_DIGIT}]+))?")


_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_WORDS = {
    word: value
    for value, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Quantity:
    """A number as written.

    `value` has its sign. `step` is the unit of its last digit (0.1 in 12.5). `factor` is the factor of its scale and
    percent sign.
    """

    value: float
    step: float
    factor: float = 1.0

    def readings(self) -> Iterator[tuple[float, float]]:
        """Yield (value, step) as written and as meant: 3.5亿 may be compared with 3.5 (in 亿) or with 350,000,000."""
        yield self.value, self.step
        if self.factor != 1:
            yield self.value * self.factor, self.step * self.factor


def quantities(text: str) -> list[Quantity]:
    """Return all numbers of a text, which is read in NFKC. A range such as 10-20 is two numbers."""
    plain = unicodedata.normalize("NFKC", text)
    numbers = [_quantity_in_digits(number, plain) for number in _QUANTITY.finditer(plain)]
    numbers += [
        Quantity(_parse_numeral(numeral[2], numeral[3]), 1.0, 0.01 if numeral[1] else 1.0)
        for numeral in _NUMERAL.finditer(plain)
    ]
    return numbers + [Quantity(float(_WORDS[word.lower()]), 1.0) for word in _WORD.findall(plain)]


def _quantity_in_digits(number: re.Match[str], text: str) -> Quantity:
    digits, scale, percent = number.groups()
    plain = digits.replace(",", "")
    sign = -1.0 if _MINUS.search(text[max(0, number.start() - 4) : number.start()]) else 1.0
    factor = SCALES.get((scale or "").lower(), 1.0)
    if percent:
        factor *= 0.001 if percent == "‰" else 0.01
    return Quantity(sign * float(plain), 10.0 ** -len(plain.partition(".")[2]), factor)


def _parse_numeral(whole: str, decimals: str | None) -> float:
    """Return the value of 二十三, 两千零五 or 一万二千, and of plain digits such as 二〇一九."""
    if not set(whole) & {*_UNITS, "万", "亿"}:
        return float("".join(str(_DIGITS[digit]) for digit in whole) + (f".{_decimals(decimals)}" if decimals else ""))
    total = section = digit = 0
    for character in whole:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _UNITS:
            section += (digit or 1) * _UNITS[character]
            digit = 0
        elif character == "万":
            total += (section + digit or 1) * 10_000
            section = digit = 0
        else:
            total = (total + section + digit or 1) * 100_000_000
            section = digit = 0
    return total + section + digit + (float(f"0.{_decimals(decimals)}") if decimals else 0.0)


def _decimals(numeral: str) -> str:
    return "".join(str(_DIGITS[digit]) for digit in numeral)
