import json
from dataclasses import replace

from components.records import Kind, Request
from components.testset.gates.supported import Supported
from components.testset.wording import Wording
from tests.contracts.asking_gate_contract import AskingGateContract
from tests.contracts.judge_contract import ScriptedJudge
from tests.testset.gates.asking import CORPUS, LLM, draft, user_prompt

GATE = Supported(LLM, Wording("", "{question}|{references}|{documents}", "Again."), max_attempts=2, tags=False)
GOOD = draft("The loan to the tram", "The bank lent 40 million.", "bank", kind=Kind.SUMMARIZATION)


class TestSupported(AskingGateContract):
    component = GATE
    corpus = CORPUS
    good = GOOD
    bad = replace(GOOD, id="bad", references=("The bank lent 40 million at 3 percent.",))
    reason = "not_supported"

    def reply(self, request: Request) -> str:
        return json.dumps({"reason": "", "unsupported": "3 percent" if "3 percent" in user_prompt(request) else ""})


def test_supported_gate_hides_the_source_and_skips_questions() -> None:
    ask = ScriptedJudge(TestSupported().reply)
    GATE.verdicts([replace(GOOD, evidence=draft("", "", "tram", "bank").evidence, removed=("tram",))], CORPUS, ask)
    assert "lent the tram company" in user_prompt(ask.requests[0])
    assert "17.6 km" not in user_prompt(ask.requests[0])
    assert not any(GATE.applies_to(replace(GOOD, kind=kind)) for kind in Kind if kind is not Kind.SUMMARIZATION)
