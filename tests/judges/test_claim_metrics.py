import json
from dataclasses import replace

import pytest

from components.directions import metric_larger_is_better
from components.judges.claim_metrics import ClaimMetrics
from components.judges.claim_scores import CLAIM_METRICS
from components.llms.scripted import Scripted
from components.metrics.em import ExactMatch
from components.records import Answer, JudgeInput, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge, failed
from tests.contracts.passages import make_passages
from tests.judges.claim_script import CLAIM_PROMPT, VERDICT_PROMPT, claims_reply, script

RETRIEVER = ("claim_recall", "context_precision")
METRIC = ClaimMetrics(
    llm=Scripted(),
    system="审核",
    claim_prompt=CLAIM_PROMPT,
    verdict_prompt=VERDICT_PROMPT,
    reminder="请重答",
    use=tuple(CLAIM_METRICS),
    max_claims=10,
    one_by_one=False,
    max_attempts=2,
)
ITEM = JudgeInput(
    Sample("s", "qa", Kind.QA, "？", ("甲。乙。丙。",)), "甲。戊。己。庚。", make_passages("甲。戊。", "己。", "丙。")
)
"""The answer has 甲 right and in passage 1, 戊 wrong and in the relevant passage 1, 己 wrong and in the irrelevant
passage 2, and 庚 wrong and in no passage. Of the reference, 甲 and 丙 are in passages, and the answer covers 甲.
"""


class TestClaimMetrics(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return script()(request)


class TestMetricsOfTheRetriever(JudgeContract):
    metric = replace(METRIC, use=RETRIEVER)

    def reply(self, request: Request) -> str:
        return script()(request)


class TestFaithfulnessAlone(JudgeContract):
    metric = replace(METRIC, use=("faithfulness",))

    def reply(self, request: Request) -> str:
        return script()(request)


class TestOneByOne(JudgeContract):
    metric = replace(METRIC, one_by_one=True)

    def reply(self, request: Request) -> str:
        return script()(request)


def outcomes(metric: ClaimMetrics, item: JudgeInput, ask: ScriptedJudge) -> dict[str, float | ScoreState]:
    judgements = metric.judge([item], metric.prepare([item.sample], ScriptedJudge(script())), ask)
    return {
        name: float(scores.values[0]) if scores.states[0] is ScoreState.VALUE else scores.states[0]
        for name, scores in judgements.scores.items()
    }


def test_claim_metrics_equal_hand_computed_values() -> None:
    ask = ScriptedJudge(script())
    assert outcomes(METRIC, ITEM, ask) == {
        "overall_precision": 1 / 4,
        "overall_recall": 1 / 3,
        "overall_f1": pytest.approx(2 / 7),
        "claim_recall": 2 / 3,
        "context_precision": 2 / 3,
        "context_utilization": 1 / 2,
        "relevant_noise_sensitivity": 1 / 4,
        "irrelevant_noise_sensitivity": 1 / 4,
        "hallucination": 1 / 4,
        "self_knowledge": 0.0,
        "faithfulness": 3 / 4,
    }
    assert len(ask.requests) == METRIC.n_requests_per_sample(3) == 1 + 2 + 2 * 3
    assert [len(call) for call in ask.calls] == [1, 8]


def test_claims_remark_shows_every_claim_with_its_sources() -> None:
    preparation = METRIC.prepare([ITEM.sample], ScriptedJudge(script()))
    (remark,) = METRIC.judge([ITEM], preparation, ScriptedJudge(script())).remarks
    assert remark.splitlines() == [
        "answer, right, in [1]: 甲",
        "answer, wrong, in [1]: 戊",
        "answer, wrong, in [2]: 己",
        "answer, wrong, in no passage: 庚",
        "reference, covered, in [1]: 甲",
        "reference, missed, in no passage: 乙",
        "reference, missed, in [3]: 丙",
    ]


def test_right_claims_without_a_passage_count_as_self_knowledge() -> None:
    item = replace(ITEM, answer="乙。", passages=make_passages("无"))
    found = outcomes(METRIC, item, ScriptedJudge(script()))
    assert (found["self_knowledge"], found["hallucination"], found["faithfulness"]) == (1.0, 0.0, 0.0)


def test_reference_claims_are_split_once_without_the_answer() -> None:
    ask = ScriptedJudge(script())
    preparation = METRIC.prepare([ITEM.sample], ask)
    assert [request.messages[-1].content for request in ask.requests] == ["split|？|甲。乙。丙。"]
    assert preparation == {"s": {"state": "value", "reason": "", "claims": ["甲", "乙", "丙"]}}


def test_several_references_are_sent_as_numbered_wordings() -> None:
    sample = replace(ITEM.sample, references=("北京", " ", "北京市"))
    ask = ScriptedJudge(script())
    METRIC.prepare([sample], ask)
    assert ask.requests[0].messages[-1].content == "split|？|[1] 北京\n[2] 北京市"


def test_empty_answer_has_zero_recall_and_no_precision() -> None:
    found = outcomes(METRIC, replace(ITEM, answer=" "), ScriptedJudge(script()))
    assert (found["overall_recall"], found["overall_f1"], found["claim_recall"]) == (0.0, 0.0, 2 / 3)
    assert {found[name] for name in ("overall_precision", "faithfulness", "hallucination")} == {
        ScoreState.NOT_APPLICABLE
    }


def test_refusal_has_zero_recall_and_no_precision() -> None:
    ask = ScriptedJudge(lambda r: claims_reply() if "split|？|不知道" in r.messages[-1].content else script()(r))
    found = outcomes(METRIC, replace(ITEM, answer="不知道"), ask)
    assert (found["overall_recall"], found["overall_f1"]) == (0.0, 0.0)
    assert (found["overall_precision"], found["faithfulness"]) == (ScoreState.NOT_APPLICABLE, ScoreState.NOT_APPLICABLE)


def test_claims_without_references_give_only_faithfulness() -> None:
    item = replace(ITEM, sample=replace(ITEM.sample, references=()))
    ask = ScriptedJudge(script())
    found = outcomes(METRIC, item, ask)
    assert found.pop("faithfulness") == 0.75
    assert set(found.values()) == {ScoreState.NOT_APPLICABLE}
    assert len(ask.requests) == 1 + 3


def test_claims_of_closed_book_answers_give_only_overall_metrics() -> None:
    found = outcomes(METRIC, replace(ITEM, passages=()), ScriptedJudge(script()))
    assert {name for name, value in found.items() if value is not ScoreState.NOT_APPLICABLE} == {
        "overall_precision",
        "overall_recall",
        "overall_f1",
    }


def test_context_utilization_requires_recalled_claims() -> None:
    found = outcomes(METRIC, replace(ITEM, passages=make_passages("无")), ScriptedJudge(script()))
    assert (found["claim_recall"], found["context_utilization"]) == (0.0, ScoreState.NOT_APPLICABLE)


@pytest.mark.parametrize(("reply", "state"), [(failed, ScoreState.FAILED), (lambda _: "?", ScoreState.UNPARSABLE)])
def test_missing_claim_reply_leaves_all_claim_metrics_without_a_value(reply: object, state: ScoreState) -> None:
    def ask(request: Request) -> str | Answer:
        is_last = request.messages[1].content.endswith("|[1] 丙。") and "庚" in request.messages[1].content
        return reply(request) if is_last else script()(request)  # type: ignore[operator,no-any-return]

    assert set(outcomes(METRIC, ITEM, ScriptedJudge(ask)).values()) == {state}


def test_too_many_answer_claims_are_unparsable() -> None:
    item = replace(ITEM, answer="".join(f"第{n}句。" for n in range(200)))
    assert set(outcomes(METRIC, item, ScriptedJudge(script())).values()) == {ScoreState.UNPARSABLE}


def test_references_with_unread_claims_are_unparsable() -> None:
    preparation = METRIC.prepare([ITEM.sample], ScriptedJudge(lambda _: '{"claims": [1]}'))
    assert preparation["s"]["state"] == "unparsable"
    assert preparation["s"]["reason"].startswith("claims of the reference: cannot be read")


@pytest.mark.parametrize(
    ("use", "n_rounds", "reads_answers", "n_requests"),
    [
        (("overall_precision",), 0, True, 2),
        (("overall_recall",), 1, True, 1),
        (("overall_f1",), 1, True, 3),
        (RETRIEVER, 1, False, 5),
        (("faithfulness",), 0, True, 6),
        (("hallucination",), 0, True, 7),
        (tuple(CLAIM_METRICS), 1, True, 13),
    ],
)
def test_claim_metrics_request_only_needed_comparisons(
    use: tuple[str, ...], n_rounds: int, reads_answers: bool, n_requests: int
) -> None:
    metric = replace(METRIC, use=use)
    found = metric.n_rounds_to_prepare, metric.reads_answers, metric.n_requests_per_sample(5)
    assert found == (n_rounds, reads_answers, n_requests)


def test_claim_metrics_have_the_documented_directions() -> None:
    assert {name for name in METRIC.names if metric_larger_is_better(METRIC, name) is False} == {
        "relevant_noise_sensitivity",
        "irrelevant_noise_sensitivity",
        "hallucination",
    }
    assert metric_larger_is_better(METRIC, "self_knowledge") is None
    assert metric_larger_is_better(METRIC, "overall_f1") is True
    assert metric_larger_is_better(ExactMatch(), "em") is True


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"use": ("precison",)}, "use: got 'precison', expected one of overall_precision"),
        ({"use": ()}, "use: got []"),
        ({"use": ("overall_f1", "overall_f1")}, "use: got ['overall_f1', 'overall_f1']"),
        ({"claim_prompt": "{question}"}, "claim_prompt: lacks the placeholder {text}"),
        ({"max_claims": 0}, "max_claims: got 0"),
    ],
)
def test_claim_metrics_reject_invalid_settings(changes: dict[str, object], problem: str) -> None:
    (found,) = replace(METRIC, **changes).check()
    assert problem in found


def test_claim_preparation_survives_json() -> None:
    preparation = METRIC.prepare([ITEM.sample], ScriptedJudge(script()))
    assert json.loads(json.dumps(preparation)) == preparation
