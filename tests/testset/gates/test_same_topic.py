import re
from dataclasses import replace

from components.records import Kind, Request
from components.testset.gates.same_topic import SameTopic
from components.testset.wording import Wording
from tests.contracts.asking_gate_contract import AskingGateContract
from tests.contracts.judge_contract import ScriptedJudge
from tests.testset.gates.asking import CORPUS, LENGTH, LLM, draft, user_prompt

GATE = SameTopic(LLM, Wording("", "{question}|{references}\n{options}", "Again."), seed=0, max_attempts=2, tags=False)


class TestSameTopic(AskingGateContract):
    component = GATE
    corpus = CORPUS
    good = LENGTH
    bad = draft("What did the Oakham bank lend?", "40 million", "bank")
    reason = "other_topic"

    def reply(self, request: Request) -> str:
        text = user_prompt(request)
        number = re.search(rf"\[(\d)\] {'Finance' if 'bank' in text.split('|')[0] else 'Transport'}", text)
        return f'{{"reason": "its words", "topic": {number[1] if number else 0}}}'


def test_missing_topic_counts_as_a_different_topic() -> None:
    ask = ScriptedJudge(lambda _: '{"reason": "a novel", "topic": 0}')
    assert GATE.verdicts([LENGTH], CORPUS, ask)[0].detail == "none of the topics: a novel"


def test_questions_with_a_topic_are_classified_with_their_answer() -> None:
    assert not GATE.applies_to(replace(LENGTH, topic=""))
    assert not GATE.applies_to(replace(LENGTH, kind=Kind.SUMMARIZATION))
    ask = ScriptedJudge(TestSameTopic().reply)
    GATE.verdicts([LENGTH], CORPUS, ask)
    assert "Oakham tram?|[1] 17.6 km\n" in user_prompt(ask.requests[0])
