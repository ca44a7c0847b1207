import json
from dataclasses import replace

import pytest

from components.judges.nuggets import Assignment, Nugget, Nuggets, nugget_scores, read_assignments, read_nuggets
from components.llms.scripted import Scripted
from components.records import JudgeInput, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge, failed

METRIC = Nuggets(
    llm=Scripted(),
    system="审核",
    nugget_prompt="make|{question}|{text}",
    assignment_prompt="assign|{question}|{nuggets}|{answer}",
    reminder="请重答",
    max_nuggets=4,
    max_attempts=2,
)
ITEM = JudgeInput(Sample("s", "qa", Kind.QA, "？", ("甲。乙。丙。",)), "甲和乙", ())


def nuggets_reply(*nuggets: str) -> str:
    entries = [{"nugget": own, "importance": "okay" if place else "vital"} for place, own in enumerate(nuggets)]
    return json.dumps({"nuggets": entries}, ensure_ascii=False)


def assigned(*assignments: str) -> str:
    return json.dumps({"assignments": [{"number": n, "assignment": own} for n, own in enumerate(assignments, 1)]})


def reply(request: Request) -> str:
    """A nugget per sentence, stated if the answer contains it."""
    kind, _, *rest = next(m.content for m in request.messages if m.role == "user").split("|")
    if kind == "make":
        return nuggets_reply(*(own for own in rest[0].split("。") if own))
    nuggets = [line.partition("] ")[2] for line in rest[0].split("\n")]
    return assigned(*("support" if own in rest[1] else "not_support" for own in nuggets))


class TestNuggets(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return reply(request)


def outcomes(item: JudgeInput, ask: ScriptedJudge, preparing: ScriptedJudge | None = None) -> list[object]:
    preparation = METRIC.prepare([item.sample], preparing or ScriptedJudge(reply))
    scores = METRIC.judge([item], preparation, ask).scores
    return [float(own.values[0]) if own.states[0] is ScoreState.VALUE else own.states[0] for own in scores.values()]


S, P, N = Assignment.SUPPORT, Assignment.PARTIAL, Assignment.NONE


@pytest.mark.parametrize(
    ("vital", "assignments", "values"),
    [
        ([1, 1, 0, 0], [S, P, P, N], [0.5, 0.25, 0.75, 0.5, (1 + 0.5 + 0.25) / 3]),
        ([1], [S], [1.0, 1.0, 1.0, 1.0, 1.0]),
        ([1, 0], [N, S], [0.5, 0.5, 0.0, 0.0, 0.5 / 1.5]),
        ([0, 0], [P, S], [0.75, 0.5, None, None, 0.75]),
    ],
)
def test_nugget_scores_equal_hand_computed_values(
    vital: list[int], assignments: list[Assignment], values: list[float | None]
) -> None:
    nuggets = [Nugget(str(place), own == 1) for place, own in enumerate(vital)]
    found = list(nugget_scores(nuggets, assignments).values())
    assert found == [ScoreState.NOT_APPLICABLE if own is None else pytest.approx(own) for own in values]


def test_nuggets_are_prepared_once_without_the_answer() -> None:
    ask = ScriptedJudge(reply)
    preparation = METRIC.prepare([ITEM.sample], ask)
    assert [request.messages[-1].content for request in ask.requests] == ["make|？|甲。乙。丙。"]
    judging = ScriptedJudge(reply)
    judgements = METRIC.judge([ITEM], preparation, judging)
    assert judging.requests[0].messages[-1].content == "assign|？|[1] 甲\n[2] 乙\n[3] 丙|甲和乙"
    assert judgements.remarks == ["vital, support: 甲\nokay, support: 乙\nokay, not_support: 丙"]
    assert outcomes(ITEM, ScriptedJudge(reply)) == pytest.approx([2 / 3, 2 / 3, 1.0, 1.0, 1.5 / 2])


def test_nuggets_score_an_empty_answer_zero_without_a_request() -> None:
    ask = ScriptedJudge(failed)
    assert outcomes(replace(ITEM, answer=" "), ask) == [0.0] * 5
    assert ask.calls == []


@pytest.mark.parametrize(
    ("prepared", "state"),
    [
        ('{"nuggets": []}', ScoreState.NOT_APPLICABLE),
        (nuggets_reply("a", "b", "c", "d", "e"), ScoreState.UNPARSABLE),
        ('{"nuggets": ["a"]}', ScoreState.UNPARSABLE),
    ],
)
def test_questions_without_usable_nuggets_send_no_request(prepared: str, state: ScoreState) -> None:
    ask = ScriptedJudge(failed)
    assert outcomes(ITEM, ask, ScriptedJudge(lambda _: prepared)) == [state] * 5
    assert ask.calls == []


@pytest.mark.parametrize(
    "text",
    [
        assigned("support"),
        assigned("support", "support", "support"),
        assigned("support", "perhaps"),
        '{"assignments": [{"number": 1, "assignment": "support"}, {"number": 1, "assignment": "support"}]}',
        "support",
    ],
)
def test_assignments_that_do_not_match_the_nuggets_are_unreadable(text: str) -> None:
    assert read_assignments(text, 2) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"nuggets": [{"nugget": "a", "importance": "high"}]}',
        '{"nuggets": [{"nugget": "...", "importance": "vital"}]}',
        '{"nuggets": {"nugget": "a"}}',
    ],
)
def test_malformed_nuggets_are_unreadable(text: str) -> None:
    assert read_nuggets(text, "") is None


def test_equal_nuggets_count_once() -> None:
    assert read_nuggets(nuggets_reply("a\nb", "a b", "c"), "") == (Nugget("a b", True), Nugget("c", False))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"nugget_prompt": "{question}"}, "nugget_prompt: lacks the placeholder {text}"),
        ({"assignment_prompt": "{question}{nuggets}"}, "assignment_prompt: lacks the placeholder {answer}"),
        ({"max_nuggets": 0}, "max_nuggets: got 0"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
    ],
)
def test_nuggets_reject_invalid_settings(changes: dict[str, object], problem: str) -> None:
    (found,) = replace(METRIC, **changes).check()
    assert problem in found
