"""Units of texts as numbers: equal units are equal numbers, in any text, process and session."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from components.records import Units

Rows = Sequence[int] | NDArray[np.int64]


def _number(unit: str) -> int:
    """63 bits of a hash: among a million distinct units two are equal with a probability of 5e-8."""
    return int.from_bytes(blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


_MOST_WORDS = 1_000_000
_LONGEST_WORD = 32
"""Longer units, such as whole answers, do not come again, and are not remembered."""


class _Numbers(dict[str, int]):
    """The numbers of units, each made when it is first met."""

    def __missing__(self, unit: str) -> int:
        number = _number(unit)
        if len(unit) <= _LONGEST_WORD:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[unit] = number
        return number


_numbers = _Numbers()


def number_units(units_of_texts: Iterable[Sequence[str]]) -> Units:
    """The units of many texts."""
    rows = [[_numbers[unit] for unit in units] for units in units_of_texts]
    ids = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=sum(map(len, rows)))
    return Units(ids, _offsets(np.array([len(row) for row in rows], dtype=np.int64)))


def take(units: Units, rows: Rows) -> Units:
    """Those of some of the texts, in the order of `rows`; a text may be taken several times."""
    chosen = np.asarray(rows, dtype=np.int64)
    lengths = np.diff(units.offsets)[chosen]
    offsets = _offsets(lengths)
    places = np.arange(offsets[-1]) + np.repeat(units.offsets[chosen] - offsets[:-1], lengths)
    return Units(units.ids[places], offsets)


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
