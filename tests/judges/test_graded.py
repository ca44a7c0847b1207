import json
from dataclasses import replace
from itertools import pairwise

import pytest

from components.errors import ComponentError
from components.judges.graded import Graded
from components.llms.scripted import Scripted
from components.records import Answer, AnswerState, JudgeInput, Kind, Message, Request, Sample, ScoreState
from tests.contracts.judge_contract import JUDGED, JudgeContract, ScriptedJudge, failed, samples_of
from tests.contracts.passages import make_passages

ACCURACY = Graded(
    name="accuracy",
    larger_is_better=True,
    llm=Scripted(),
    system="评审",
    instruction="问{question}\n参{references}\n答{answer}",
    applicability="",
    reminder="请重答",
    grades=(0, 1, 2),
    not_applicable_grade=None,
    empty_answer=0,
    max_attempts=3,
    prompt_version=1,
)
NUMERICAL = replace(ACCURACY, name="numerical", applicability="适用吗？{question}{references}", grades=(0, 1))
COMPAT = replace(ACCURACY, name="compat", grades=(-1, 0, 1, 2), not_applicable_grade=-1, empty_answer=None)
HALLUCINATION = replace(
    ACCURACY, name="hallucination", instruction="{passages}|{answer}", grades=(0, 1), empty_answer=None
)
RELEVANCE = replace(ACCURACY, name="relevance", instruction="{question}|{passage}", empty_answer=None)


def reply(request: Request) -> str:
    """Grades by the text of the request; questions whose number is odd are not applicable."""
    text = request.messages[1].content
    if text.startswith("适用吗"):
        return json.dumps({"reason": "看题", "applicable": "1？" not in text}, ensure_ascii=False)
    return f'{{"reason": "长{len(text)}", "grade": {len(text) % 2}}}'


class GradedContract(JudgeContract):
    def reply(self, request: Request) -> str:
        return reply(request)


class TestAccuracy(GradedContract):
    metric = ACCURACY


class TestNumerical(GradedContract):
    metric = NUMERICAL


class TestCompat(GradedContract):
    metric = COMPAT


class TestHallucination(GradedContract):
    metric = HALLUCINATION


class TestRelevance(GradedContract):
    metric = replace(RELEVANCE, max_attempts=2)


ITEM = JudgeInput(Sample("s", "qa", Kind.QA, "西湖在哪？", ("杭州",)), "在杭州。", make_passages("甲", "乙"))


def outcome_of(metric: Graded, item: JudgeInput, ask: ScriptedJudge) -> tuple[float | ScoreState, str]:
    """The value or the state of one sample, and the remark."""
    judgements = metric.judge([item], metric.prepare([item.sample], ask), ask)
    (scores,) = judgements.scores.values()
    (state,), (value,) = scores.states, scores.values.tolist()
    return value if state is ScoreState.VALUE else state, judgements.remarks[0]


def replies(*texts: str | Answer) -> ScriptedJudge:
    """Return a function that gives these replies one after another."""
    script = iter(texts)
    return ScriptedJudge(lambda _: next(script))


def test_judge_prompt_contains_question_references_and_answer() -> None:
    ask = replies('{"reason": "相符", "grade": 2}')
    assert outcome_of(ACCURACY, replace(ITEM, answer="在{question}"), ask) == (1.0, "2: 相符")
    (request,) = ask.requests
    assert request.messages == (Message("system", "评审"), Message("user", "问西湖在哪？\n参[1] 杭州\n答在{question}"))
    assert request.json_schema is not None
    assert request.json_schema["properties"]["grade"]["enum"] == [0, 1, 2]
    assert list(request.json_schema["properties"]) == ["reason", "grade"]


@pytest.mark.parametrize(
    ("metric", "text", "outcome"),
    [
        (ACCURACY, '{"grade": 0}', 0.0),
        (ACCURACY, '{"grade": 1}', 0.5),
        (ACCURACY, "2", 1.0),
        (HALLUCINATION, '{"grade": "1"}', 1.0),
        (COMPAT, '{"grade": 1}', 0.5),
        (COMPAT, '{"grade": 0}', 0.0),
        (COMPAT, '{"grade": -1}', ScoreState.NOT_APPLICABLE),
    ],
)
def test_grade_of_a_reply_becomes_a_value(metric: Graded, text: str, outcome: float | ScoreState) -> None:
    assert outcome_of(metric, ITEM, replies(text))[0] == outcome


def test_unreadable_grade_reply_is_repeated_with_the_reminder() -> None:
    ask = replies("<think>嗯</think>很好", '{"grade": 7}', '{"reason": "好", "grade": 2}')
    assert outcome_of(ACCURACY, ITEM, ask) == (1.0, "2: 好")
    first, second, third = (request.messages for request in ask.requests)
    assert second == (*first, Message("assistant", "很好"), Message("user", "请重答"))
    assert third == (*second, Message("assistant", '{"grade": 7}'), Message("user", "请重答"))


def test_truncated_grade_reply_is_not_read() -> None:
    cut = Answer("", AnswerState.TRUNCATED, '{"accuracy": 1')
    outcome, remark = outcome_of(ACCURACY, ITEM, replies(cut, cut, cut))
    assert (outcome, remark) == (ScoreState.UNPARSABLE, 'cannot be read: (truncated reply) {"accuracy": 1')


@pytest.mark.parametrize("state", [AnswerState.EMPTY, AnswerState.REFUSED])
def test_reminder_joins_the_question_after_an_empty_reply(state: AnswerState) -> None:
    ask = replies(Answer("", state), Answer("", state), Answer("", state))
    outcome, remark = outcome_of(ACCURACY, ITEM, ask)
    assert outcome is ScoreState.UNPARSABLE
    assert state.value in remark
    for before, after in pairwise(request.messages for request in ask.requests):
        assert [message.role for message in after] == ["system", "user"]
        assert after[1].content == f"{before[1].content}\n\n请重答"


def test_grade_out_of_range_is_unparsable() -> None:
    outcome, remark = outcome_of(NUMERICAL, ITEM, replies('{"applicable": true}', *['{"grade": 2}'] * 3))
    assert outcome is ScoreState.UNPARSABLE
    assert '{"grade": 2}' in remark


def test_request_that_fails_after_an_unreadable_reply_is_failed() -> None:
    outcome, remark = outcome_of(ACCURACY, ITEM, replies("?", Answer("", AnswerState.ERROR, error="no connection")))
    assert (outcome, remark) == (ScoreState.FAILED, "no connection")


def test_judge_repeats_only_unreadable_requests() -> None:
    judged = [ITEM, replace(ITEM, sample=replace(ITEM.sample, id="t", question="故宫？"))]
    ask = ScriptedJudge(lambda r: '{"grade": 1}' if "西湖" in r.messages[1].content or len(r.messages) > 2 else "?")
    judgements = ACCURACY.judge(judged, {}, ask)
    assert [[request.id for request in call] for call in ask.calls] == [["s", "t"], ["t"]]
    assert judgements.scores["accuracy"].values.tolist() == [0.5, 0.5]


class TestApplicability:
    def test_applicability_is_requested_once_without_the_answer(self) -> None:
        ask = replies('{"reason": "是数值", "applicable": true}', '{"grade": 1}')
        assert outcome_of(NUMERICAL, ITEM, ask)[0] == 1.0
        assert ask.requests[0].messages[1].content == "适用吗？西湖在哪？[1] 杭州"
        assert ask.requests[0].passages == ()

    def test_negative_applicability_reply_means_not_applicable(self) -> None:
        ask = replies('{"reason": "不是数值", "applicable": "否"}')
        assert outcome_of(NUMERICAL, ITEM, ask) == (ScoreState.NOT_APPLICABLE, "不是数值")

    def test_unreadable_applicability_reply_is_unparsable(self) -> None:
        outcome, remark = outcome_of(NUMERICAL, ITEM, replies("也许", '{"applicable": null}', "{}"))
        assert outcome is ScoreState.UNPARSABLE
        assert remark == "cannot be read: {}"

    def test_failed_applicability_request_fails_the_grade(self) -> None:
        assert outcome_of(NUMERICAL, ITEM, ScriptedJudge(failed)) == (ScoreState.FAILED, "no connection")

    def test_applicability_is_checked_before_an_empty_answer(self) -> None:
        empty = replace(ITEM, answer=" ")
        assert outcome_of(NUMERICAL, empty, replies('{"applicable": true}'))[0] == 0.0
        assert outcome_of(NUMERICAL, empty, replies('{"applicable": false}'))[0] is ScoreState.NOT_APPLICABLE

    def test_judging_without_preparation_is_an_error(self) -> None:
        with pytest.raises(ComponentError, match="'s': got no preparation"):
            NUMERICAL.judge([ITEM], {}, ScriptedJudge(failed))


class TestEmptyInputs:
    @pytest.mark.parametrize(("metric", "outcome"), [(ACCURACY, 0.0), (HALLUCINATION, ScoreState.NOT_APPLICABLE)])
    @pytest.mark.parametrize("answer", ["", " \n"])
    def test_empty_answer_is_graded_without_a_request(
        self, metric: Graded, outcome: float | ScoreState, answer: str
    ) -> None:
        ask = ScriptedJudge(failed)
        assert outcome_of(metric, replace(ITEM, answer=answer), ask)[0] == outcome
        assert ask.calls == []

    @pytest.mark.parametrize("metric", [HALLUCINATION, RELEVANCE])
    def test_passage_metric_is_not_applicable_without_passages(self, metric: Graded) -> None:
        ask = ScriptedJudge(failed)
        assert outcome_of(metric, replace(ITEM, passages=()), ask) == (ScoreState.NOT_APPLICABLE, "no passages")
        assert ask.calls == []

    def test_closed_book_answers_are_graded_without_passages(self) -> None:
        assert outcome_of(ACCURACY, replace(ITEM, passages=()), replies('{"grade": 2}'))[0] == 1.0

    @pytest.mark.parametrize("references", [(), ("",)])
    def test_accuracy_is_not_applicable_without_a_reference(self, references: tuple[str, ...]) -> None:
        item = replace(ITEM, sample=replace(ITEM.sample, references=references))
        assert outcome_of(ACCURACY, item, ScriptedJudge(failed)) == (ScoreState.NOT_APPLICABLE, "no reference")
        assert outcome_of(HALLUCINATION, item, replies('{"grade": 0}'))[0] == 0.0


class TestPerPassage:
    def test_grade_per_passage_is_the_mean_over_the_passages(self) -> None:
        ask = replies('{"reason": "一", "grade": 2}', '{"reason": "二", "grade": 1}')
        assert outcome_of(RELEVANCE, ITEM, ask) == (0.75, "2: 一\n1: 二")
        assert [request.messages[1].content for request in ask.requests] == ["西湖在哪？|甲", "西湖在哪？|乙"]
        assert [request.id for request in ask.requests] == ["s#1", "s#2"]

    def test_metric_per_passage_reads_no_answers(self) -> None:
        assert not RELEVANCE.reads_answers
        assert ACCURACY.reads_answers

    def test_unread_passage_leaves_the_mean_without_a_value(self) -> None:
        ask = ScriptedJudge(lambda r: '{"grade": 2}' if "甲" in r.messages[1].content else "?")
        assert outcome_of(RELEVANCE, ITEM, ask)[0] is ScoreState.UNPARSABLE

    def test_failed_passage_takes_precedence_over_unparsable(self) -> None:
        ask = ScriptedJudge(lambda r: failed(r) if "乙" in r.messages[1].content else "?")
        assert outcome_of(RELEVANCE, ITEM, ask)[0] is ScoreState.FAILED


def test_applicability_of_all_questions_is_requested_in_one_call() -> None:
    ask = ScriptedJudge(reply)
    preparation = NUMERICAL.prepare(samples_of(JUDGED), ask)
    assert len(ask.calls) == 1
    assert {an_id: entry["state"] for an_id, entry in preparation.items()} == {
        "s0": "value",
        "s1": "not_applicable",
        "s2": "not_applicable",
        "s3": "value",
        "s4": "value",
        "s5": "value",
    }


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": " "}, "name: is empty"),
        ({"grades": (0,)}, "grades: got [0]"),
        ({"grades": (-1, 0), "empty_answer": 0, "not_applicable_grade": -1}, "the highest at least 1"),
        ({"grades": (-1, 0, 1), "empty_answer": 0}, "grades: got -1, expected at least 0"),
        ({"empty_answer": 3}, "empty_answer: got 3"),
        ({"not_applicable_grade": -1}, "not_applicable_grade: got -1"),
        ({"instruction": "{question}"}, "no placeholder for what to judge"),
        ({"applicability": "{answer}"}, "applicability: got {answer}"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
    ],
)
def test_graded_metrics_reject_invalid_settings(changes: dict[str, object], problem: str) -> None:
    (found,) = replace(ACCURACY, **changes).check()
    assert problem in found
