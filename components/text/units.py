"""Units of texts as numbers. Equal units have equal numbers in all texts and processes."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from components.records import Units

Rows = Sequence[int] | NDArray[np.int64]


def _number(unit: str) -> int:
    """Return 63 bits of a hash. Among a million distinct units, two are equal with a probability of 5e-8."""
    return int.from_bytes(blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


_MAX_WORDS = 1_000_000
_MAX_WORD_CHARACTERS = 32
"""Longer units, such as whole answers, rarely recur and are not cached."""


class _Numbers(dict[str, int]):
    """Numbers of units, computed at their first use."""

    def __missing__(self, unit: str) -> int:
        number = _number(unit)
        if len(unit) <= _MAX_WORD_CHARACTERS:
            if len(self) >= _MAX_WORDS:
                self.clear()
            self[unit] = number
        return number


_numbers = _Numbers()


def number_units(units_of_texts: Iterable[Sequence[str]]) -> Units:
    """Return the units of many texts as numbers."""
    rows = [[_numbers[unit] for unit in units] for units in units_of_texts]
    ids = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=sum(map(len, rows)))
    return Units(ids, _offsets(np.array([len(row) for row in rows], dtype=np.int64)))


def select_units(units: Units, rows: Rows) -> Units:
    """Return the units of some texts, in the order of `rows`. A text may be taken several times."""
    chosen = np.asarray(rows, dtype=np.int64)
    lengths = np.diff(units.offsets)[chosen]
    offsets = _offsets(lengths)
    places = np.arange(offsets[-1]) + np.repeat(units.offsets[chosen] - offsets[:-1], lengths)
    return Units(units.ids[places], offsets)


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
