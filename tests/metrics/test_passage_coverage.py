import numpy as np
import pytest

from components.errors import ComponentError
from components.metrics.passage_coverage import PassageCoverage, Span
from components.records import Context, Documents, Evidence, Scores, ScoreState
from tests.contracts.metric_contract import ContextMetricContract, qa_sample

_DOCUMENTS = Documents(ids=("a", "b"), titles=("", ""), texts=("0123456789", "01234"))
_NO_TOKENS = np.zeros(1, dtype=np.int64)
_CONTEXT = Context(np.full((1, 1), -1, dtype=np.int32), _NO_TOKENS, _NO_TOKENS)


class TestPassageCoverage(ContextMetricContract):
    metric = PassageCoverage()


def _coverage(gold: tuple[Evidence, ...], spans: list[Span]) -> Scores:
    scores = PassageCoverage().score_contexts([qa_sample(gold=gold)], _DOCUMENTS, [spans], _CONTEXT)
    return scores["passage_coverage"]


@pytest.mark.parametrize(
    ("gold", "spans", "expected"),
    [
        ((Evidence("a", 2, 6),), [(0, 0, 10)], 1.0),
        ((Evidence("a", 2, 6),), [(0, 4, 10)], 0.5),
        ((Evidence("a", 2, 6),), [(0, 5, 8), (0, 0, 3)], 0.5),
        ((Evidence("a", 2, 6),), [(0, 3, 5), (0, 4, 6), (0, 3, 5)], 0.75),
        ((Evidence("a", 2, 6),), [(0, 6, 10), (1, 2, 5)], 0.0),
        ((Evidence("a", 2, 6),), [], 0.0),
        ((Evidence("a"),), [(0, 0, 3), (0, 7, 10)], 0.6),
        ((Evidence("a", 0, 5), Evidence("b")), [(1, 0, 5)], 0.5),
        ((Evidence("a", 0, 4), Evidence("a", 2, 6)), [(0, 0, 3)], 0.5),
        ((Evidence("b"), Evidence("absent")), [(1, 0, 5)], 1.0),
        ((Evidence("a", one_of=1), Evidence("b", one_of=1)), [(1, 0, 5)], 1.0),
        ((Evidence("a", one_of=1), Evidence("b", one_of=1)), [(0, 0, 6), (1, 0, 2)], 0.6),
        ((Evidence("a", one_of=1), Evidence("b", one_of=1)), [], 0.0),
        ((Evidence("absent", one_of=1), Evidence("b", one_of=1)), [(1, 0, 2)], 0.4),
        ((Evidence("a", 0, 4, one_of=1), Evidence("b", one_of=1), Evidence("a", 6, 10)), [(1, 0, 5)], 5 / 9),
        ((Evidence("a", 0, 4, one_of=1), Evidence("b", one_of=1), Evidence("a", 6, 10, one_of=2)), [(1, 0, 5)], 5 / 9),
    ],
)
def test_passage_coverage_equals_hand_computed_shares(
    gold: tuple[Evidence, ...], spans: list[Span], expected: float
) -> None:
    assert _coverage(gold, spans).values.tolist() == pytest.approx([expected])


def test_passage_coverage_of_random_spans_equals_a_character_mask() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        spans = [(0, *sorted(random.choice(11, 2, replace=False).tolist())) for _ in range(6)]
        gold, chunks = spans[:3], spans[3:]
        is_gold, is_covered = np.zeros(10, dtype=bool), np.zeros(10, dtype=bool)
        for _, start, end in gold:
            is_gold[start:end] = True
        for _, start, end in chunks:
            is_covered[start:end] = True
        units = tuple(Evidence("a", start, end) for _, start, end in gold)
        assert _coverage(units, chunks).values[0] == pytest.approx((is_gold & is_covered).sum() / is_gold.sum())


@pytest.mark.parametrize("gold", [(), (Evidence("absent", 0, 4),), (Evidence("aa"),)])
def test_passage_coverage_leaves_out_gold_outside_the_corpus(gold: tuple[Evidence, ...]) -> None:
    assert _coverage(gold, [(0, 0, 10)]).states == (ScoreState.NO_GOLD,)


def test_passage_coverage_rejects_missing_spans() -> None:
    with pytest.raises(ComponentError, match="spans for 0 of 1 samples"):
        PassageCoverage().score_contexts([qa_sample()], _DOCUMENTS, [], _CONTEXT)
