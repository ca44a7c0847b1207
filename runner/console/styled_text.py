"""Sentences of the report and of MLflow: plain text with some emphasis, for any rendering."""

from collections.abc import Iterable
from dataclasses import dataclass

from runner.console.display import significant_digits

MINUS = "\u2212"


@dataclass(frozen=True)
class Prose:
    """Pieces of a sentence, alternately plain and strong. The first piece is plain."""

    pieces: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "".join(self.pieces)

    def __add__(self, other: "Prose") -> "Prose":
        """Join two sentences with a space. An empty one adds nothing."""
        if not self.pieces or not other.pieces:
            return self if self.pieces else other
        pieces = self.pieces if len(self.pieces) % 2 else (*self.pieces, "")
        return Prose((*pieces[:-1], f"{pieces[-1]} {other.pieces[0]}", *other.pieces[1:]))


def prose(*pieces: str) -> Prose:
    """Build a `Prose` from pieces, alternately plain and strong."""
    return Prose(pieces)


def count_decimals(values: Iterable[float | None]) -> int:
    """Return the number of decimals: one if any value is 10 or more, as for lengths and counts, else four."""
    return 1 if max((abs(value) for value in values if value is not None), default=0.0) >= 10 else 4


def number(value: float | None, digits: int = 4, sign: str = "") -> str:
    """Format a value with `digits` decimals; with `sign` "+" always signed; a dash for None."""
    return "\u2013" if value is None else f"{value:{sign},.{digits}f}".replace("-", MINUS)


def count(n: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: "1 cell", "1,200 cells"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """Format a duration with two significant digits: "4.3 ms", "1.2 s", "12 min", "1.5 h"."""
    for unit, n_seconds in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= n_seconds * (1 if unit == "s" else 2):
            return f"{significant_digits(seconds / n_seconds)} {unit}"
    return f"{significant_digits(seconds * 1000)} ms"


def join_names(names: Iterable[str], last: str = "and") -> str:
    """Join names: "a, b and c"."""
    items = list(names)
    return f"{', '.join(items[:-1])} {last} {items[-1]}" if len(items) > 1 else "".join(items)
