from dataclasses import replace
from math import log2

import pytest

from components.judges.relevance_grades import RelevanceGrades, normalized_gain
from components.llms.scripted import Scripted
from components.records import JudgeInput, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge, failed
from tests.contracts.passages import make_passages

METRIC = RelevanceGrades(Scripted(), "评判", "{question}|{passage}", "请重答", relevant_from=2, max_attempts=2)
ITEM = JudgeInput(Sample("s", "qa", Kind.QA, "？", ()), "", make_passages("3", "0", "1"))


def reply(request: Request) -> str:
    """The grade in the passage, 2 if it has none."""
    passage = next(m.content for m in request.messages if m.role == "user").rpartition("|")[2]
    return f'{{"reason": "so\\nit is", "grade": {passage if passage.isdigit() else 2}}}'


class TestRelevanceGrades(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return reply(request)


@pytest.mark.parametrize(
    ("grades", "value"),
    [
        ([3, 3], 1.0),
        ([0, 0], 0.0),
        ([3], 1.0),
        ([1], 1 / 3),
        ([3, 0], 1 / (1 + 1 / log2(3))),
        ([0, 3], (1 / log2(3)) / (1 + 1 / log2(3))),
    ],
)
def test_normalized_gain_is_relative_to_the_highest_grades(grades: list[int], value: float) -> None:
    assert normalized_gain(grades) == pytest.approx(value)


def test_relevance_grade_metrics_equal_hand_computed_values() -> None:
    judgements = METRIC.judge([ITEM], {}, ScriptedJudge(reply))
    values = {name: float(scores.values[0]) for name, scores in judgements.scores.items()}
    gain = (3 + 1 / 2) / (3 * (1 + 1 / log2(3) + 1 / 2))
    assert values == pytest.approx({"umbrela_ndcg": gain, "umbrela_precision": 1 / 3, "umbrela_relevance": 4 / 9})
    assert judgements.remarks == ["3: so it is\n0: so it is\n1: so it is"]


def test_unread_passage_makes_relevance_metrics_unparsable() -> None:
    item = replace(ITEM, passages=make_passages("3", "4"))
    judgements = METRIC.judge([item], {}, ScriptedJudge(reply))
    assert {scores.states for scores in judgements.scores.values()} == {(ScoreState.UNPARSABLE,)}


def test_relevance_judge_sends_no_request_without_passages() -> None:
    ask = ScriptedJudge(failed)
    judgements = METRIC.judge([replace(ITEM, passages=())], {}, ask)
    assert (ask.calls, judgements.remarks) == ([], ["no passages"])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"prompt": "{passage}"}, "prompt: lacks the placeholder {question}"),
        ({"relevant_from": 0}, "relevant_from: got 0"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
    ],
)
def test_relevance_grades_reject_invalid_settings(changes: dict[str, object], problem: str) -> None:
    (found,) = replace(METRIC, **changes).check()
    assert problem in found
