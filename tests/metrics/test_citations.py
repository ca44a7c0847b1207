from collections.abc import Sequence

import pytest

from components.errors import ComponentError
from components.metrics.citations import Citations
from components.records import Documents, Evidence, PassagePlaces, ScoreState
from tests.contracts.metric_contract import CitationMetricContract, qa_sample, value_of


class TestCitations(CitationMetricContract):
    metric = Citations()


DOCUMENTS = Documents(("a", "b"), ("", ""), ("0123456789" * 4, "0123456789"))


def passages(*spans: tuple[int, int, int]) -> list[PassagePlaces]:
    return [PassagePlaces((span,)) for span in spans]


def scored(
    answer: str, gold: Sequence[Evidence], places: Sequence[PassagePlaces]
) -> dict[str, tuple[float, ScoreState]]:
    found = Citations().score_citations([qa_sample(gold=tuple(gold))], DOCUMENTS, [answer], [places])
    return {name.removeprefix("citation_"): (value_of(own), own.states[0]) for name, own in found.items()}


FIRST_TEN = (Evidence("a", 0, 10),)


@pytest.mark.parametrize(
    ("answer", "precision", "recall"),
    [
        ("Yes [1].", 1.0, 1.0),
        ("Yes [2].", 0.0, 0.0),
        ("Yes [1][2].", 0.5, 1.0),
        ("Yes [1]. No [2].", 0.5, 0.5),
        ("Yes [1]. No.", 1.0, 0.5),
        ("Yes [1]. Yes [1]. No [9].", 2 / 3, 2 / 3),  # a number that no passage has is a wrong one
        ("Yes [0].", 0.0, 0.0),
    ],
)
def test_citation_scores_equal_hand_computed_values(answer: str, precision: float, recall: float) -> None:
    found = scored(answer, FIRST_TEN, passages((0, 0, 12), (1, 0, 10)))
    assert (found["precision"][0], found["recall"][0]) == pytest.approx((precision, recall))


@pytest.mark.parametrize("answer", ["Yes.", ""])
def test_answer_without_citations_has_no_precision(answer: str) -> None:
    found = scored(answer, FIRST_TEN, passages((0, 0, 12)))
    assert found["precision"][1] is ScoreState.NO_CITATIONS
    assert found["recall"] == (0.0, ScoreState.VALUE)


@pytest.mark.parametrize(
    ("gold", "passage", "is_right"),
    [
        (Evidence("a", 0, 10), (0, 5, 30), True),  # half of the unit
        (Evidence("a", 0, 10), (0, 6, 30), False),
        (Evidence("a", 0, 40), (0, 10, 14), True),  # a short passage in a long unit
        (Evidence("a", 0, 20), (0, 18, 22), True),  # half of the passage
        (Evidence("a", 0, 20), (0, 19, 23), False),
        (Evidence("a"), (0, 30, 31), True),
        (Evidence("a"), (1, 0, 10), False),
    ],
)
def test_citation_is_right_if_the_passage_overlaps_gold(
    gold: Evidence, passage: tuple[int, int, int], is_right: bool
) -> None:
    assert scored("Yes [1].", [gold], passages(passage))["precision"][0] == is_right


def test_citation_of_a_copy_of_gold_is_right() -> None:
    copy = PassagePlaces(((1, 0, 10),), copied=((0, 0, 8),))
    assert scored("Yes [1].", FIRST_TEN, [copy])["precision"][0] == 1.0


def test_citation_recall_requires_only_one_gold_unit() -> None:
    gold = [Evidence("absent"), Evidence("b", 0, 5), Evidence("a", 0, 10)]
    assert scored("Yes [1]. And [2].", gold, passages((0, 0, 10), (1, 0, 5)))["recall"][0] == 1.0


def test_citation_inputs_of_different_lengths_are_rejected() -> None:
    with pytest.raises(ComponentError, match="got 2 answers and the passages of 1 for 1 samples"):
        Citations().score_citations([qa_sample()], DOCUMENTS, ["a", "b"], [[]])
