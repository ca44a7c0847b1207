"""Results of benchmarks, and their bounds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """The limit of a value: an upper limit unless `at_least`."""

    limit: float
    at_least: bool = False

    def holds(self, value: float) -> bool:
        """Return True if the value is on the right side of the limit."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g}"


@dataclass(frozen=True)
class Measure:
    """One number. `unit` is "x" for a ratio, and `detail` describes its parts. Without a bound it is only recorded."""

    name: str
    value: float
    unit: str
    detail: str
    bound: Bound | None = None

    @property
    def holds(self) -> bool:
        """False if there is a bound and the value breaks it."""
        return self.bound is None or self.bound.holds(self.value)
