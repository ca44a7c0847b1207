"""The choice of the cheapest level."""

from analysis.decision.cheapest import MeanCost, cheapest


def test_cheapest_level_has_the_fewest_tokens_then_seconds() -> None:
    assert cheapest([MeanCost(200, 0.1), MeanCost(109, 3.0), MeanCost(100, 5.0)]) == 1
    assert cheapest([MeanCost(None, 3.0), MeanCost(None, 1.0)]) == 1


def test_cheapest_level_is_the_first_of_about_equal_latencies() -> None:
    assert cheapest([MeanCost(None, 0.09), MeanCost(None, 0.001), MeanCost(None, 0.5)]) == 0


def test_latency_within_the_noise_makes_no_level_cheaper() -> None:
    slow, fast = MeanCost(None, 3.0, noise=1.5), MeanCost(None, 1.0, noise=0.5)
    assert cheapest([slow, fast]) == 1
    assert cheapest([slow._replace(noise=2.0), fast]) is None


def test_level_without_answers_is_not_the_cheapest() -> None:
    assert cheapest([MeanCost(100, 0.1, given=0.0), MeanCost(300, 0.5)]) == 1
    assert cheapest([MeanCost(100, 0.1, given=0.25), MeanCost(300, 0.5)]) == 1, "400 per answer"
    assert cheapest([MeanCost(100, 0.1, given=0.5), MeanCost(300, 0.5)]) == 0
    assert cheapest([MeanCost(None, 0.1, given=0.0), MeanCost(None, 0.5)]) == 1


def test_equal_costs_make_no_level_the_cheapest() -> None:
    assert cheapest([MeanCost(100, 0.015), MeanCost(109, 0.001)]) is None
    assert cheapest([MeanCost(None, None), MeanCost(None, None)]) is None
    assert cheapest([MeanCost(100, 0.015)]) == 0
