"""Sentences of the report and of MLflow: plain words with a few strong ones among them, for any rendering."""

from collections.abc import Iterable
from dataclasses import dataclass

from runner.console.display import about

MINUS = "\u2212"


@dataclass(frozen=True)
class Prose:
    """Pieces of a text by turns plain and strong: the first, the third, ... are plain."""

    pieces: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "".join(self.pieces)

    def __add__(self, other: "Prose") -> "Prose":
        """Both, with a space between them; an empty one adds nothing."""
        if not self.pieces or not other.pieces:
            return self if self.pieces else other
        own = self.pieces if len(self.pieces) % 2 else (*self.pieces, "")
        return Prose((*own[:-1], f"{own[-1]} {other.pieces[0]}", *other.pieces[1:]))


def prose(*pieces: str) -> Prose:
    """Of pieces by turns plain and strong, the first one plain."""
    return Prose(pieces)


def digits_of(values: Iterable[float | None]) -> int:
    """Decimals to show: four for scores, one for lengths and counts, which reach 10 and more."""
    return 1 if max((abs(value) for value in values if value is not None), default=0.0) >= 10 else 4


def number(value: float | None, digits: int = 4, sign: str = "") -> str:
    """A value with so many decimals; with `sign` "+" always signed; a dash for None."""
    return "\u2013" if value is None else f"{value:{sign},.{digits}f}".replace("-", MINUS)


def count(n: int, what: str, plural: str = "") -> str:
    """E.g. "1 cell", "1,200 cells"."""
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


def duration(seconds: float) -> str:
    """To two digits in the unit that suits it: "4.3 ms", "1.2 s", "12 min", "1.5 h"."""
    for unit, n_seconds in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= n_seconds * (1 if unit == "s" else 2):
            return f"{about(seconds / n_seconds)} {unit}"
    return f"{about(seconds * 1000)} ms"


def listed(names: Iterable[str], last: str = "and") -> str:
    """E.g. "a, b and c"."""
    own = list(names)
    return f"{', '.join(own[:-1])} {last} {own[-1]}" if len(own) > 1 else "".join(own)
