"""Numbers in Chinese texts, and whether one follows from others by simple arithmetic."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations

_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_HAN = re.compile(r"[零一二两三四五六七八九十百千]+")
_HAN_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_UNITS = (1.0, 1e4, 1e-4)
"""The same number in ones, in 万 or in 亿."""

_SHARES = (1.0, 10.0, 100.0, 1000.0, 0.01)
"""A ratio as a number, in 成, in percent, in per mille; in percent of 万 over 亿."""


def written_numbers(text: str) -> list[str]:
    """The numbers in digits of a text as they are written, without thousands separators."""
    return [match.replace(",", "") for match in _DIGITS.findall(text)]


def values(text: str) -> set[float]:
    """The values of all numbers of a text, in digits or in Chinese."""
    return {float(number) for number in written_numbers(text)} | {_value_of_han(match) for match in _HAN.findall(text)}


def not_derivable(references: Iterable[str], source: str) -> list[str]:
    """The numbers in digits of the references that neither occur in `source` nor follow from a few of its numbers.

    They follow exactly from two or three by addition, subtraction, multiplication or a percentage, and up to their
    rounding from two as ratio or relative change; also from numbers of the references that follow themselves. A coarse
    net: of numbers that were changed at random it catches more than half.
    """
    known = values(source)
    missing = [number for reference in references for number in written_numbers(reference)]
    while True:
        exact = sorted(unit * value for value in _exact_results(known) for unit in _UNITS)
        rounded = sorted(share * abs(value) for value in _ratios(known) for share in _SHARES)
        found = {n for n in missing if _is_near(float(n), exact, 1e-9 * float(n)) or _is_near_rounded(n, rounded)}
        known |= {float(number) for number in found}
        missing = [number for number in missing if number not in found]
        if not found or not missing:
            return missing


def _exact_results(known: set[float]) -> Iterator[float]:
    yield from known
    for a, b in permutations(known, 2):
        for unit in _UNITS:
            yield from (a + unit * b, a - unit * b)
        yield from (a * b, a * b / 100, a * (100 + b) / 100, a * (100 - b) / 100)
    for a, b, c in combinations(known, 3):
        yield from (a * b * c, a * b * c / 100, a + b + c, a - b - c, b - a - c, c - a - b)


def _ratios(known: set[float]) -> Iterator[float]:
    for a, b in permutations(known, 2):
        if b:
            yield from (a / b, (a - b) / b)


def _is_near_rounded(number: str, ordered: list[float]) -> bool:
    value = float(number)
    return value < 1000 and _is_near(value, ordered, 0.501 * 10 ** -len(number.partition(".")[2]))


def _is_near(value: float, ordered: list[float], tolerance: float) -> bool:
    position = bisect_left(ordered, value - tolerance)
    return position < len(ordered) and ordered[position] <= value + tolerance


def _value_of_han(numeral: str) -> float:
    total, digit = 0, 0
    for character in numeral:
        if character in _HAN_UNITS:
            total += (digit or 1) * _HAN_UNITS[character]
            digit = 0
        else:
            digit = 10 * digit + _HAN_DIGITS[character]
    return float(total + digit)
