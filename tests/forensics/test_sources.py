"""Passages from which an answer was taken."""

import pytest

from components.forensics.sources import EvidenceUse, Shares, evidence_use, measure_shares

GOLD, OTHER = "The red bridge was built in 1887.", "A blue tower fell down in 1650."


def test_answer_source_is_measured_by_shared_runs() -> None:
    shares = measure_shares("the answer: blue tower fell down", [GOLD], [OTHER])
    assert shares.gold == 0.0
    assert shares.others == pytest.approx(17 / 27)


def test_shared_runs_ignore_white_space() -> None:
    assert measure_shares("大桥 于一八八\n七年建成", ["红色的大桥于一八八七年建成。"], []) == Shares(1.0, 0.0)


def test_short_answer_is_searched_for_as_a_whole() -> None:
    assert measure_shares("1650", [GOLD], [OTHER]) == Shares(0.0, 1.0)
    assert measure_shares("", [GOLD], [OTHER]) == Shares(0.0, 0.0)


def test_shared_runs_do_not_cross_passages() -> None:
    assert measure_shares("abcdefgh", ["abcd"], ["efgh"]) == Shares(0.0, 0.0)


@pytest.mark.parametrize(
    ("gold", "others", "use"),
    [
        (0.0, 0.3, EvidenceUse.DISTRACTED),
        (0.5, 0.5, EvidenceUse.WRONG_WITH_EVIDENCE),
        (0.05, 0.29, EvidenceUse.UNUSED),
        (0.1, 0.2, EvidenceUse.WRONG_WITH_EVIDENCE),
        (0.6, 0.7, EvidenceUse.DISTRACTED),
    ],
)
def test_shares_of_gold_and_others_decide_the_evidence_use(gold: float, others: float, use: EvidenceUse) -> None:
    assert evidence_use(Shares(gold, others)) is use
