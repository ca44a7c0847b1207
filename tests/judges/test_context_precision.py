from dataclasses import replace

import pytest

from components.judges.context_precision import ContextPrecision, average_precision
from components.llms.scripted import Scripted
from components.records import JudgeInput, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge, failed
from tests.contracts.passages import make_passages

METRIC = ContextPrecision(
    name="context_precision",
    llm=Scripted(),
    system="审核",
    prompt="{question}|{references}|{passage}",
    reminder="请重答",
    max_attempts=2,
)
OF_ANSWERS = replace(METRIC, name="context_precision_without_reference", prompt="{question}|{answer}|{passage}")
ITEM = JudgeInput(Sample("s", "qa", Kind.QA, "？", ("甲",)), "乙", make_passages("无", "甲", "无", "甲乙"))


def reply(request: Request) -> str:
    _, wanted, passage = next(m.content for m in request.messages if m.role == "user").split("|")
    return f'{{"reason": "so", "grade": {int(wanted.removeprefix("[1] ")[:1] in passage)}}}'


class TestContextPrecision(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return reply(request)


class TestContextPrecisionWithoutReference(JudgeContract):
    metric = OF_ANSWERS

    def reply(self, request: Request) -> str:
        return reply(request)


def outcome_of(metric: ContextPrecision, item: JudgeInput, ask: ScriptedJudge) -> float | ScoreState:
    scores = metric.judge([item], {}, ask).scores[metric.name]
    return float(scores.values[0]) if scores.states[0] is ScoreState.VALUE else scores.states[0]


@pytest.mark.parametrize(
    ("useful", "value"),
    [([1, 1, 0], 1.0), ([0, 1], 0.5), ([0, 1, 0, 1], 0.5), ([1, 0, 1], (1 + 2 / 3) / 2), ([0, 0], 0.0), ([], 0.0)],
)
def test_average_precision_equals_hand_computed_values(useful: list[int], value: float) -> None:
    assert average_precision([own == 1 for own in useful]) == pytest.approx(value)


def test_context_precision_judges_passages_by_reference_or_answer() -> None:
    assert outcome_of(METRIC, ITEM, ScriptedJudge(reply)) == 0.5
    assert outcome_of(OF_ANSWERS, ITEM, ScriptedJudge(reply)) == 0.25
    assert (METRIC.reads_answers, OF_ANSWERS.reads_answers) == (False, True)


@pytest.mark.parametrize(
    ("metric", "item"),
    [
        (METRIC, replace(ITEM, passages=())),
        (METRIC, replace(ITEM, sample=replace(ITEM.sample, references=()))),
        (OF_ANSWERS, replace(ITEM, answer=" ")),
    ],
)
def test_context_precision_without_required_texts_is_not_applicable(metric: ContextPrecision, item: JudgeInput) -> None:
    assert outcome_of(metric, item, ScriptedJudge(failed)) is ScoreState.NOT_APPLICABLE


def test_unread_passage_makes_context_precision_unparsable() -> None:
    ask = ScriptedJudge(lambda r: "?" if "甲乙" in r.messages[1].content else reply(r))
    assert outcome_of(METRIC, ITEM, ask) is ScoreState.UNPARSABLE


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": ""}, "name: is empty"),
        ({"prompt": "{question}{answer}"}, "prompt: lacks the placeholder {passage}"),
        ({"prompt": "{question}{passage}"}, "prompt: expected either {references} or {answer}"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
    ],
)
def test_context_precision_rejects_invalid_settings(changes: dict[str, object], problem: str) -> None:
    (found,) = replace(METRIC, **changes).check()
    assert problem in found
