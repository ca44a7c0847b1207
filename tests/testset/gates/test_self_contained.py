import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from components.records import Answer, Request
from components.testset.gates.self_contained import SelfContained
from components.testset.records import VerdictState
from components.testset.wording import Wording
from tests.contracts.asking_gate_contract import AskingGateContract
from tests.contracts.judge_contract import ScriptedJudge, failed
from tests.testset.gates.asking import CORPUS, LATER, LENGTH, LLM, user_prompt

GATE = SelfContained(LLM, Wording("", "{question}", "Again."), max_attempts=2, tags=False)


def clear(text: str, is_clear: bool) -> str:
    return json.dumps({"about": text, "missing": "" if is_clear else "which line?", "self_contained": is_clear})


class TestSelfContained(AskingGateContract):
    component = GATE
    corpus = CORPUS
    good = LENGTH
    bad = replace(LENGTH, id="bad", question="How long is it?")
    reason = "not_self_contained"

    def reply(self, request: Request) -> str:
        return clear("a line", "Oakham" in user_prompt(request))


@pytest.mark.parametrize(
    ("clear_with", "clear_without", "reason"),
    [(True, False, ""), (True, True, "history_not_needed"), (False, False, "not_self_contained")],
)
def test_later_turn_is_judged_with_its_history(clear_with: bool, clear_without: bool, reason: str) -> None:
    ask = ScriptedJudge(lambda request: clear("x", clear_with if "user: " in user_prompt(request) else clear_without))
    (verdict,) = GATE.verdicts([LATER], CORPUS, ask)
    assert verdict.reason == reason
    assert [user_prompt(request).count("user: ") for request in ask.requests] == [2, 0]


def test_failure_of_either_request_keeps_the_turn_pending() -> None:
    def script(is_with: bool) -> Callable[[Request], str | Answer]:
        return lambda request: (
            failed(request) if ("user: " in user_prompt(request)) == is_with else clear("x", not is_with)
        )

    for is_with in (True, False):
        (verdict,) = GATE.verdicts([LATER], CORPUS, ScriptedJudge(script(is_with)))
        assert verdict.state is VerdictState.FAILED


def test_verdict_detail_names_the_missing_context() -> None:
    (verdict,) = GATE.verdicts([LENGTH], CORPUS, ScriptedJudge(lambda _: clear("", False)))
    assert verdict.detail == "which line?"
