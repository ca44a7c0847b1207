"""What models cost, as price lists say: numbers with a date and a source, which the user may replace."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

_PER = 1_000_000

OWN_MACHINES = "own machines"
"""The host of models that run on machines of the user's: nobody charges for their requests."""


@dataclass(frozen=True)
class Price:
    """Of a million tokens: those of the prompt, those of the prompt that the server had at hand (None: as any other),
    and those that it writes.
    """

    prompt: float
    completion: float = 0.0
    cached: float | None = None

    def of(self, n_prompt: int, n_completion: int, n_cached: int = 0) -> float:
        """The price of a request. `n_cached` are among those of the prompt."""
        cached = self.prompt if self.cached is None else self.cached
        return (self.prompt * (n_prompt - n_cached) + cached * n_cached + self.completion * n_completion) / _PER

    def check(self) -> list[str]:
        """Prices below 0."""
        prices = {"prompt": self.prompt, "completion": self.completion, "cached": self.cached or 0.0}
        return [f"{name}: got {price}, expected at least 0" for name, price in prices.items() if not price >= 0]


@dataclass(frozen=True)
class PriceList:
    """The prices of one provider at a date; `host` is its server ("" for whatever server runs a model of these names),
    `source` the page that they were read on.
    """

    as_of: str
    source: str
    models: Mapping[str, Price]
    host: str = ""

    def check(self) -> list[str]:
        """A date that is none."""
        try:
            date.fromisoformat(self.as_of)
        except ValueError:
            return [f"as_of: got {self.as_of!r}, expected the date of the prices, e.g. 2026-11-22"]
        return []


@dataclass(frozen=True)
class Prices:
    """All lists that are known, in one currency. Of lists that name the same model the last one counts."""

    currency: str
    lists: Mapping[str, PriceList]

    is_axis: ClassVar[bool] = False

    def of(self, model: str, host: str) -> Price | None:
        """None for a model that no list names at this server: what it costs is not known, which is not 0. On
        OWN_MACHINES nothing is charged unless a list says what that is worth.
        """
        found = [prices.models.get(model) for prices in self.lists.values() if prices.host in ("", host)]
        otherwise = Price(0.0) if host == OWN_MACHINES else None
        return next((price for price in reversed(found) if price), otherwise)


NO_PRICES = Prices("", {})
