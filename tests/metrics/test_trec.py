import math

import pytest

from components.errors import ComponentError
from components.metrics.trec import TrecMeasures
from components.records import ScoreState
from tests.contracts.metric_contract import RankingMetricContract

_RANKING = ("d5", "d1", "d4", "d2", "d9")
_RELEVANT = {"d1": 1, "d2": 3, "d7": 2}
_IDEAL_AT_3 = 3 + 2 / math.log2(3) + 1 / 2


class TestTrecMeasures(RankingMetricContract):
    metric = TrecMeasures()


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("mrr", 1 / 2),
        ("map@1", 0.0),
        ("map@3", (1 / 2) / 3),
        ("map@10", (1 / 2 + 2 / 4) / 3),
        ("ndcg@3", (1 / math.log2(3)) / _IDEAL_AT_3),
        ("ndcg@4", (1 / math.log2(3) + 3 / math.log2(5)) / _IDEAL_AT_3),
        ("recall@2", 1 / 3),
        ("recall@100", 2 / 3),
        ("precision@2", 1 / 2),
        ("precision@7", 2 / 7),
    ],
)
def test_trec_measures_equal_hand_computed_values(measure: str, expected: float) -> None:
    scores = TrecMeasures((measure,)).score_rankings([_RANKING], [_RELEVANT])
    assert scores[measure].values.tolist() == pytest.approx([expected], abs=1e-12)


def test_trec_measure_may_have_many_cutoffs() -> None:
    cutoffs = (100, 5, 10, 1, 20)
    measures = tuple(f"recall@{k}" for k in cutoffs)
    ranking = [f"d{i}" for i in range(200)]
    scores = TrecMeasures(measures).score_rankings([ranking], [dict.fromkeys(ranking, 1)])
    assert [scores[f"recall@{k}"].values[0] for k in cutoffs] == [k / 200 for k in cutoffs]


def test_trec_measures_use_the_given_order_of_long_rankings() -> None:
    ranking = [f"文档{i}" for i in range(20_000)]
    for ids in (ranking, ranking[::-1]):
        scores = TrecMeasures(("mrr",)).score_rankings([ids], [{ids[12_344]: 1}])
        assert scores["mrr"].values[0] == pytest.approx(1 / 12_345, abs=1e-12)


def test_trec_ids_that_differ_after_a_nul_are_different_documents() -> None:
    scores = TrecMeasures(("mrr", "recall@5")).score_rankings([["\0x", "\0y", "a", "a\0b"]], [{"a": 1, "\0z": 1}])
    assert (scores["mrr"].values[0], scores["recall@5"].values[0]) == (pytest.approx(1 / 3), 0.5)


def test_trec_measure_of_an_empty_ranking_is_zero() -> None:
    scores = TrecMeasures(("mrr",)).score_rankings([["a"], [], []], [{"a": 1}, {"a": 1}, {}])["mrr"]
    assert scores.states == (ScoreState.VALUE, ScoreState.VALUE, ScoreState.NO_GOLD)
    assert scores.statistics.tolist() == [[1, 1], [0, 1], [0, 0]]


def test_trec_reports_all_unknown_and_repeated_measures() -> None:
    measures = ("mrr", "ndgc@10", "map@0", "recall", "mrr@10", "P@5", "mrr")
    problems = TrecMeasures(measures).check()
    assert len(problems) == 6
    assert problems[0] == (
        "measures: got 'ndgc@10', expected one of mrr, map@k, ndcg@k, recall@k, precision@k with k >= 1"
    )
    assert problems[-1] == "measures: got 'mrr' more than once, expected it once"


def test_trec_rejects_an_empty_list_of_measures() -> None:
    assert len(TrecMeasures(()).check()) == 1


@pytest.mark.parametrize(
    ("measure", "rankings", "message"),
    [("ndcg", [["a"]], "'ndcg'"), ("mrr", [["a", "b", "a"]], "twice"), ("mrr", [], "1 mappings for 0 rankings")],
)
def test_trec_rejects_repeated_documents_and_missing_rankings(
    measure: str, rankings: list[list[str]], message: str
) -> None:
    with pytest.raises(ComponentError, match=message):
        TrecMeasures((measure,)).score_rankings(rankings, [{"a": 1}])
