from dataclasses import replace

import pytest

from components.judges.context_relevance import ContextRelevance, read_sentence_numbers
from components.llms.scripted import Scripted
from components.records import JudgeInput, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge
from tests.contracts.passages import make_passages

METRIC = ContextRelevance(Scripted(), "审核", "{question}|{sentences}", "请重答", 2)
ITEM = JudgeInput(Sample("s", "qa", Kind.QA, "？", ()), "", make_passages("甲。乙。", "丙。\n丁"))


class TestContextRelevance(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return '{"sentences": [1]}'


def outcome_of(item: JudgeInput, *replies: str) -> tuple[float | ScoreState, str]:
    found = iter(replies)
    judgements = METRIC.judge([item], {}, ScriptedJudge(lambda _: next(found)))
    scores = judgements.scores["context_relevance"]
    return float(scores.values[0]) if scores.states[0] is ScoreState.VALUE else scores.states[0], judgements.remarks[0]


def test_context_relevance_is_the_share_of_needed_sentences() -> None:
    remark = "2 of 4 sentences are needed\n[2] 乙。\n[4] 丁"
    assert outcome_of(ITEM, '{"sentences": [4, 2, 2]}') == (0.5, remark)
    assert outcome_of(ITEM, '{"sentences": []}') == (0.0, "0 of 4 sentences are needed")


@pytest.mark.parametrize("reply", ['{"sentences": [5]}', '{"sentences": ["all"]}', '{"sentences": 2}', "1, 2", "all"])
def test_numbers_of_missing_sentences_are_unreadable(reply: str) -> None:
    assert read_sentence_numbers(reply, 4) is None
    assert outcome_of(ITEM, reply, reply)[0] is ScoreState.UNPARSABLE


def test_context_relevance_rejects_a_prompt_without_sentences() -> None:
    assert replace(METRIC, prompt="{question}").check() == ["prompt: lacks the placeholder {sentences}"]
