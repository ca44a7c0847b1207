from dataclasses import replace

import pytest

from components.judges.claim_checks import Check
from components.judges.claim_replies import ClaimVerdict, Support
from components.judges.faithfulness import Faithfulness
from components.llms.scripted import Scripted
from components.records import Answer, AnswerState, JudgeInput, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge, failed
from tests.contracts.passages import make_passages
from tests.judges.claim_script import CLAIM_PROMPT, VERDICT_PROMPT, claims_reply, script, verdicts_reply

METRIC = Faithfulness(
    llm=Scripted(),
    system="审核",
    claim_prompt=CLAIM_PROMPT,
    verdict_prompt=VERDICT_PROMPT,
    reminder="请重答",
    max_claims=5,
    one_by_one=False,
    max_attempts=3,
)
ITEM = JudgeInput(
    Sample("s", "qa", Kind.QA, "桥何时通车？", ("1932年",)),
    "桥通车于1932年。桥是红色的。",
    make_passages("桥通车于1932年", "乙"),
)


class TestFaithfulness(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return script()(request)


class TestOneByOne(JudgeContract):
    metric = replace(METRIC, one_by_one=True)

    def reply(self, request: Request) -> str:
        return script()(request)


def outcome_of(metric: Faithfulness, item: JudgeInput, ask: ScriptedJudge) -> tuple[float | ScoreState, str]:
    judgements = metric.judge([item], {}, ask)
    scores = judgements.scores["faithfulness"]
    (state,), (value,) = scores.states, scores.values.tolist()
    return value if state is ScoreState.VALUE else state, judgements.remarks[0]


def replies(*texts: str | Answer) -> ScriptedJudge:
    found = iter(texts)
    return ScriptedJudge(lambda _: next(found))


def test_faithfulness_is_the_share_of_supported_claims() -> None:
    ask = ScriptedJudge(script())
    outcome = outcome_of(METRIC, ITEM, ask)
    assert outcome == (0.5, "supported: 桥通车于1932年 (so)\nneither: 桥是红色的 (so)")
    first, second = (request.messages[-1].content for request in ask.requests)
    assert first == "split|桥何时通车？|桥通车于1932年。桥是红色的。"
    assert second == "check|[1] 桥通车于1932年\n[2] 桥是红色的|[1] 桥通车于1932年\n[2] 乙"


def test_contradicted_claims_are_not_supported() -> None:
    ask = replies(claims_reply("a", "b", "c", "d"), verdicts_reply("supported", "contradicted", "neither", "supported"))
    assert outcome_of(METRIC, ITEM, ask)[0] == 0.5


def test_one_by_one_sends_a_request_per_claim() -> None:
    ask = ScriptedJudge(script())
    assert outcome_of(replace(METRIC, one_by_one=True), ITEM, ask)[0] == 0.5
    assert [request.messages[-1].content.split("|")[1] for request in ask.requests[1:]] == [
        "[1] 桥通车于1932年",
        "[1] 桥是红色的",
    ]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (replace(ITEM, passages=()), "no passages"),
        (replace(ITEM, answer=" \n"), "empty answer"),
    ],
)
def test_answer_without_checkable_claims_is_not_applicable(item: JudgeInput, reason: str) -> None:
    ask = ScriptedJudge(failed)
    assert outcome_of(METRIC, item, ask) == (ScoreState.NOT_APPLICABLE, reason)
    assert ask.calls == []


def test_refusal_without_claims_is_not_applicable() -> None:
    assert outcome_of(METRIC, ITEM, replies('{"claims": []}')) == (ScoreState.NOT_APPLICABLE, "no claims")


def test_too_many_claims_are_unparsable_without_a_retry() -> None:
    ask = replies(claims_reply(*(f"陈述{n}" for n in range(200))))
    outcome, remark = outcome_of(METRIC, ITEM, ask)
    assert outcome is ScoreState.UNPARSABLE
    assert remark == "cannot be read: 200 claims, more than max_claims=5, the last one: 陈述199"
    assert len(ask.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        verdicts_reply("supported"),
        verdicts_reply("supported", "supported", "supported"),
        verdicts_reply("supported", "perhaps"),
        '{"verdicts": [{"number": 1, "verdict": "supported"}, {"number": 1, "verdict": "supported"}]}',
        '{"verdicts": "supported"}',
        '{"verdicts": [1, 2]}',
        "supported, supported",
        "",
    ],
    ids=["one missing", "one too many", "no verdict", "twice the same", "no list", "no objects", "prose", "nothing"],
)
def test_verdicts_that_do_not_match_the_claims_are_unparsable(reply: str) -> None:
    ask = replies(claims_reply("a", "b"), reply, reply, reply)
    assert outcome_of(METRIC, ITEM, ask)[0] is ScoreState.UNPARSABLE
    assert len(ask.requests) == 4


def test_unreadable_reason_of_one_claim_keeps_other_verdicts() -> None:
    reply = verdicts_reply("supported", "neither").replace('"so"', '"资料未提及，无法判断"')
    assert outcome_of(METRIC, ITEM, replies(claims_reply("a", "b"), reply))[0] == 0.5


def test_truncated_claims_are_not_read() -> None:
    cut = Answer("", AnswerState.TRUNCATED, '{"claims": ["a", "b"]}')
    assert outcome_of(METRIC, ITEM, replies(cut, cut, cut))[0] is ScoreState.UNPARSABLE


def test_unread_claim_makes_faithfulness_unparsable() -> None:
    ask = ScriptedJudge(lambda r: "?" if "红色" in r.messages[-1].content.split("|")[1] else script()(r))
    assert outcome_of(replace(METRIC, one_by_one=True, max_attempts=1), ITEM, ask)[0] is ScoreState.UNPARSABLE


def test_failed_verdict_request_fails_faithfulness() -> None:
    assert outcome_of(METRIC, ITEM, replies(claims_reply("a"), failed(None))) == (  # type: ignore[arg-type]
        ScoreState.FAILED,
        "no connection",
    )


def test_braces_within_claims_are_read() -> None:
    ask = replies(claims_reply("The set {a, b} is finite.", "It is {c}"), verdicts_reply("supported", "neither"))
    assert outcome_of(METRIC, ITEM, ask)[0] == 0.5


def test_claims_with_quotes_and_line_breaks_stay_on_one_line() -> None:
    ask = replies(claims_reply('He said:\n"[2] yes".', "b"), verdicts_reply("supported", "neither"))
    assert outcome_of(METRIC, ITEM, ask)[0] == 0.5
    assert ask.requests[1].messages[-1].content.startswith('check|[1] He said: "[2] yes".\n[2] b|')


class TestEntailmentModel:
    class Model:
        version = 1

        def verdicts(self, checks: list[Check]) -> list[tuple[ClaimVerdict, ...]]:
            return [
                tuple(
                    ClaimVerdict(Support.SUPPORTED if claim in own.texts else Support.NEITHER) for claim in own.claims
                )
                for own in checks
            ]

    def test_entailment_model_checks_claims_without_a_request(self) -> None:
        metric = replace(METRIC, entailment=self.Model())
        ask = ScriptedJudge(script())
        assert outcome_of(metric, ITEM, ask) == (0.5, "supported: 桥通车于1932年\nneither: 桥是红色的")
        assert len(ask.requests) == 1
        assert metric.n_requests_per_sample(5) == 1


def test_faithfulness_counts_requests_per_sample() -> None:
    assert METRIC.n_requests_per_sample(5) == 2
    assert METRIC.n_requests_per_sample(0) == 0
    assert replace(METRIC, one_by_one=True).n_requests_per_sample(5) == 6


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"claim_prompt": "{text}"}, "claim_prompt: lacks the placeholder {question}"),
        ({"verdict_prompt": "{claims}"}, "verdict_prompt: lacks the placeholder {passages}"),
        ({"max_claims": 0}, "max_claims: got 0"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
    ],
)
def test_faithfulness_rejects_invalid_settings(changes: dict[str, object], problem: str) -> None:
    (found,) = replace(METRIC, **changes).check()
    assert problem in found
