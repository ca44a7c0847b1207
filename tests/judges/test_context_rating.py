from dataclasses import replace

import pytest

from components.judges.context_rating import ContextRating
from components.llms.scripted import Scripted
from components.records import JudgeInput, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge
from tests.contracts.passages import make_passages

METRIC = ContextRating(
    name="context_relevance_compat",
    llm=Scripted(),
    system="审核",
    prompts=("一{question}{passages}", "二{question}{passages}"),
    reminder="请重答",
    max_attempts=2,
)
ITEM = JudgeInput(Sample("s", "qa", Kind.QA, "？", ()), "", make_passages("甲"))


class TestContextRating(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return '{"reason": "so", "grade": 1}'


def outcome_of(first: str, second: str) -> float | ScoreState:
    ask = ScriptedJudge(lambda r: first if r.messages[1].content.startswith("一") else second)
    scores = METRIC.judge([ITEM], {}, ask).scores["context_relevance_compat"]
    return float(scores.values[0]) if scores.states[0] is ScoreState.VALUE else scores.states[0]


@pytest.mark.parametrize(
    ("first", "second", "value"), [("2", "2", 1.0), ("2", "1", 0.75), ("0", "1", 0.25), ("0", "0", 0.0)]
)
def test_context_rating_is_the_mean_of_both_wordings(first: str, second: str, value: float) -> None:
    assert outcome_of(first, second) == value


def test_unread_rating_makes_context_rating_unparsable() -> None:
    assert outcome_of("2", "3") is ScoreState.UNPARSABLE


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": ""}, "name: is empty"),
        ({"prompts": ()}, "prompts: is empty"),
        ({"prompts": ("{question}",)}, "prompts[0]: lacks the placeholder {passages}"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
    ],
)
def test_context_rating_rejects_invalid_settings(changes: dict[str, object], problem: str) -> None:
    (found,) = replace(METRIC, **changes).check()
    assert problem in found
