import pytest

from components.metrics.map_omnieval import MapOmniEval
from tests.contracts.metric_contract import RankingMetricContract


class TestMapOmniEval(RankingMetricContract):
    metric = MapOmniEval()


def _score(ranking: list[str], *relevant: str) -> float:
    scores = MapOmniEval().score_rankings([ranking], [dict.fromkeys(relevant, 1)])
    return float(scores["map_omnieval_compat"].values[0])


def test_map_omnieval_averages_precision_at_retrieved_gold() -> None:
    assert _score(["a", "x", "b"], "a", "b") == pytest.approx((1 + 2 / 3) / 2)


def test_average_precision_ignores_gold_documents_that_were_not_retrieved() -> None:
    assert _score(["a", "x"], "a", "b", "c") == 1.0


def test_average_precision_without_hits_is_zero() -> None:
    assert _score(["x"], "a") == 0.0
