"""What a benchmark reports."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """The limit of a value; an upper one unless `at_least`."""

    limit: float
    at_least: bool = False

    def holds(self, value: float) -> bool:
        """True if the value is on the right side of the limit."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g}"


@dataclass(frozen=True)
class Measure:
    """One number: `unit` is "x" for a ratio; `detail` says what it is made of. Without a bound it is for the record."""

    name: str
    value: float
    unit: str
    detail: str
    bound: Bound | None = None

    @property
    def holds(self) -> bool:
        """False if there is a bound and the value breaks it."""
        return self.bound is None or self.bound.holds(self.value)
