"""Prices of models from dated price lists with a source. Users may replace them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

_PER = 1_000_000

OWN_MACHINES = "own machines"
"""The host of models on the user's machines. Their requests cost nothing."""


@dataclass(frozen=True)
class Price:
    """Prices per million tokens: of prompt tokens, of completion tokens, and of prompt tokens that the server had
    cached.

    If `cached` is None, cached tokens cost as much as other prompt tokens.
    """

    prompt: float
    completion: float = 0.0
    cached: float | None = None

    def cost(self, n_prompt: int, n_completion: int, n_cached: int = 0) -> float:
        """Return the price of a request. `n_prompt` includes the `n_cached` cached tokens."""
        cached = self.prompt if self.cached is None else self.cached
        return (self.prompt * (n_prompt - n_cached) + cached * n_cached + self.completion * n_completion) / _PER

    def check(self) -> list[str]:
        """Return one message per price below 0."""
        prices = {"prompt": self.prompt, "completion": self.completion, "cached": self.cached or 0.0}
        return [f"{name}: got {price}, expected at least 0" for name, price in prices.items() if not price >= 0]


@dataclass(frozen=True)
class PriceList:
    """Prices of one provider on one date.

    `host` is the provider's server; "" applies to any server that runs a model of these names. `source` is the page
    that lists the prices.
    """

    as_of: str
    source: str
    models: Mapping[str, Price]
    host: str = ""

    def check(self) -> list[str]:
        """Return an error message if `as_of` is not a date."""
        try:
            date.fromisoformat(self.as_of)
        except ValueError:
            return [f"as_of: got {self.as_of!r}, expected the date of the prices, e.g. 2026-11-22"]
        return []


@dataclass(frozen=True)
class Prices:
    """All known price lists, in one currency. If several lists name a model, the last one is used."""

    currency: str
    lists: Mapping[str, PriceList]

    is_axis: ClassVar[bool] = False

    def find(self, model: str, host: str) -> Price | None:
        """Return the price of a model at a server, or None if no list names it there: an unknown price is not 0.

        On OWN_MACHINES, a model costs nothing unless a list names it.
        """
        if prices := self.find_list(model, host):
            return prices.models[model]
        return Price(0.0) if host == OWN_MACHINES else None

    def find_list(self, model: str, host: str) -> PriceList | None:
        """Return the list with the price of a model at a server, or None if no list names it there."""
        lists = [prices for prices in self.lists.values() if prices.host in ("", host) and model in prices.models]
        return lists[-1] if lists else None


NO_PRICES = Prices("", {})
