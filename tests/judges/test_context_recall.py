from dataclasses import replace

import pytest

from components.judges.context_recall import ContextRecall
from components.llms.scripted import Scripted
from components.records import JudgeInput, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge, failed
from tests.contracts.passages import make_passages
from tests.judges.claim_script import VERDICT_PROMPT, script

METRIC = ContextRecall(
    llm=Scripted(),
    system="审核",
    verdict_prompt=VERDICT_PROMPT,
    reminder="请重答",
    max_claims=5,
    one_by_one=False,
    max_attempts=3,
)
ITEM = JudgeInput(Sample("s", "qa", Kind.QA, "？", ("甲。乙。丙。", "丁。")), "", make_passages("甲。", "乙。"))


class TestContextRecall(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return script()(request)


def outcome_of(item: JudgeInput, ask: ScriptedJudge, metric: ContextRecall = METRIC) -> tuple[float | ScoreState, str]:
    judgements = metric.judge([item], {}, ask)
    scores = judgements.scores["context_recall"]
    (state,), (value,) = scores.states, scores.values.tolist()
    return value if state is ScoreState.VALUE else state, judgements.remarks[0]


def test_context_recall_takes_the_best_reference() -> None:
    ask = ScriptedJudge(script())
    value, remark = outcome_of(ITEM, ask)
    assert value == pytest.approx(2 / 3)
    assert remark.splitlines()[-1] == "neither: 丁。 (so)"
    assert ask.requests[0].messages[-1].content == "check|[1] 甲。\n[2] 乙。\n[3] 丙。\n[4] 丁。|[1] 甲。\n[2] 乙。"
    other = replace(ITEM, passages=make_passages("丁。"))
    assert outcome_of(other, ScriptedJudge(script()))[0] == 1.0


@pytest.mark.parametrize(
    ("item", "outcome"),
    [
        (replace(ITEM, passages=()), (ScoreState.NOT_APPLICABLE, "no passages")),
        (replace(ITEM, sample=replace(ITEM.sample, references=(" ",))), (ScoreState.NOT_APPLICABLE, "no reference")),
        (
            replace(ITEM, sample=replace(ITEM.sample, references=("一。二。三。", "四。五。六。"))),
            (ScoreState.UNPARSABLE, "cannot be read: 6 sentences, more than max_claims=5"),
        ),
    ],
)
def test_context_recall_without_input_sends_no_request(item: JudgeInput, outcome: tuple[ScoreState, str]) -> None:
    ask = ScriptedJudge(failed)
    assert outcome_of(item, ask) == outcome
    assert ask.calls == []


def test_context_recall_counts_requests_per_sample() -> None:
    assert [METRIC.n_requests_per_sample(n) for n in (0, 5)] == [0, 1]
    assert replace(METRIC, one_by_one=True).n_requests_per_sample(5) == 5


def test_context_recall_rejects_a_prompt_without_claims() -> None:
    assert replace(METRIC, verdict_prompt="{passages}").check() == ["verdict_prompt: lacks the placeholder {claims}"]
