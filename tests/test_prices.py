"""Prices of models."""

import pytest

from components.prices import Price, PriceList, Prices


def test_price_is_per_million_tokens() -> None:
    price = Price(prompt=3.0, completion=15.0, cached=0.3)
    assert price.cost(1_000_000, 1_000_000) == pytest.approx(18.0)
    assert price.cost(1_000_000, 0, 900_000) == pytest.approx(0.3 + 0.27)
    assert Price(prompt=3.0).cost(1000, 0, 500) == pytest.approx(0.003), "no price of its own for what is cached"


def test_prices_of_a_server_and_of_the_last_list_take_precedence() -> None:
    first = PriceList("2026-01-01", "page", {"a": Price(1.0), "b": Price(2.0)}, "host")
    prices = Prices("USD", {"first": first, "own": PriceList("2026-01-02", "bill", {"b": Price(5.0)})})
    assert prices.find("a", "host") == Price(1.0)
    assert prices.find("b", "host") == prices.find("b", "localhost:8000") == Price(5.0)
    assert prices.find("a", "localhost:8000") is None
    assert prices.find("c", "host") is None


def test_prices_reject_invalid_settings() -> None:
    assert Price(-1.0).check() == ["prompt: got -1.0, expected at least 0"]
    assert Price(float("nan")).check()
    (problem,) = PriceList("May", "page", {}).check()
    assert problem.startswith("as_of: got 'May', expected the date")
