"""Metrics of revised answers."""

import math

import numpy as np
import pytest

from components.llms.scripted import Scripted
from components.protocols import JudgedMetric
from components.records import Answer, AnswerCheck, AnswerState, ScoreState
from components.revisers.scores import LENGTHS, SHARES, SupportedAfter, score_support, verdict_text
from tests.contracts.component_contract import ComponentContract
from tests.contracts.reviser_contract import ITEMS, item
from tests.revisers.test_reflect import critique_reply, reflect, replies


class TestShares(ComponentContract):
    component = SHARES


class TestLengths(ComponentContract):
    component = LENGTHS

    def test_length_means_divide_sums_by_counts(self) -> None:
        sums = np.array([[6.0, 2.0], [0.0, 0.0]])
        assert [LENGTHS.combine("characters_after", sums)[0], SHARES.is_share, LENGTHS.is_share] == [3.0, True, False]
        assert math.isnan(LENGTHS.combine("characters_after", sums)[1])


class TestSupportedAfter(ComponentContract):
    component = SupportedAfter(reflect(llm=Scripted(reply="x")))

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, JudgedMetric)
        assert self.component.llm == Scripted(reply="x")
        assert [self.component.n_requests_per_sample(n) for n in (0, 1, 5)] == [0, 1, 1]

    def test_supported_after_scores_answers_by_the_reviser_check(self) -> None:
        ask, asked = replies(
            critique_reply([], []), critique_reply(["x"], ["y"]), Answer("", AnswerState.ERROR, error="broken")
        )
        judged = [*ITEMS[:2], item("empty", " ", "a"), *ITEMS[2:3], item("bad", "b", "a")]
        judgements = self.component.judge(judged, {}, ask)
        scores = judgements.scores["supported_after"]
        assert scores.values[[0, 1, 3]].tolist() == [1.0, 0.0, 0.0]
        assert [str(state) for state in scores.states] == ["value", "value", "not_applicable", "value", "failed"]
        assert judgements.remarks == ["supported", "not supported: x; missing: y", "", "not supported", "broken"]
        abstained = self.component.judge([item("a", "insufficient information", "b")], {}, ask)
        assert [str(state) for state in abstained.scores["supported_after"].states] == ["not_applicable"]
        direct, again = replies(critique_reply([], []))
        self.component.reviser.check_answers(ITEMS[:1], direct)
        assert again[0] == asked[0], "so that the reply is stored once"


@pytest.mark.parametrize(
    ("check", "outcome", "remark"),
    [
        (AnswerCheck(True), 1.0, "supported"),
        (AnswerCheck(True, (), ("a", "b")), 1.0, "supported; missing: a | b"),
        (AnswerCheck(False, ("",)), 0.0, "not supported"),
        (AnswerCheck(None), ScoreState.NOT_APPLICABLE, ""),
        (AnswerCheck(None, unread="?"), ScoreState.UNPARSABLE, "?"),
        (AnswerCheck(None, failed="!"), ScoreState.FAILED, "!"),
    ],
)
def test_reviser_check_has_an_outcome_and_a_remark(check: AnswerCheck, outcome: object, remark: str) -> None:
    assert (score_support(check), verdict_text(check)) == (outcome, remark)
