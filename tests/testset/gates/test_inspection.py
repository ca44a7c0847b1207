import json
from dataclasses import replace

import pytest

from components.records import Kind, Request
from components.testset.gates.inspection import Inspection
from components.testset.records import GateVerdict, Quote, VerdictState
from components.testset.wording import Wording
from tests.contracts.asking_gate_contract import AskingGateContract
from tests.contracts.judge_contract import ScriptedJudge
from tests.testset.gates.asking import CORPUS, LENGTH, LLM, draft, user_prompt

WORDING = Wording("", "{question}|{references}|{quotes}|{expression}|\n{documents}", "Again.")
GATE = Inspection(LLM, WORDING, max_attempts=2)
CORRECTION = {
    "reason": "the unit is missing",
    "grade": 1,
    "question": "How many kilometres long is line 2 of the Oakham tram?",
    "answer": "17.6",
    "evidence": [{"sentences": [1], "quote": "17.6 km long"}],
    "expression": "",
}


class TestInspection(AskingGateContract):
    component = GATE
    corpus = CORPUS
    good = LENGTH
    bad = draft("Is it nice?", "Yes", "tram")
    reason = "dropped_by_inspector"

    def reply(self, request: Request) -> str:
        return json.dumps({"reason": "as seen", "grade": 0 if "nice" in user_prompt(request) else 2})


def inspect(reply: dict[str, object], **changes: object) -> GateVerdict:
    own = replace(LENGTH, **changes)  # type: ignore[arg-type]
    return GATE.verdicts([own], CORPUS, ScriptedJudge(lambda _: json.dumps(reply)))[0]


def test_corrected_draft_has_a_new_identity_and_no_gold() -> None:
    verdict = inspect(CORRECTION)
    assert (verdict.state, verdict.detail) == (VerdictState.CORRECTED, "the unit is missing")
    corrected = verdict.draft
    assert corrected is not None
    assert corrected.id != LENGTH.id
    assert (corrected.question, corrected.references) == (CORRECTION["question"], ("17.6",))
    assert (corrected.gold, corrected.quotes) == ((), (Quote((1,), "17.6 km long"),))
    assert corrected.was_corrected
    assert corrected.notes == {
        "question_before": LENGTH.question,
        "answer_before": "17.6 km",
        "correction": "the unit is missing",
    }
    assert corrected.evidence == LENGTH.evidence


def test_correction_without_quotes_keeps_the_old_quotes() -> None:
    verdict = inspect({**CORRECTION, "evidence": []})
    assert verdict.draft is not None
    assert verdict.draft.quotes == LENGTH.quotes


def test_second_correction_is_a_rejection() -> None:
    verdict = inspect(CORRECTION, was_corrected=True)
    assert (verdict.state, verdict.reason) == (VerdictState.REJECTED, "needs_second_correction")
    assert verdict.draft is None
    assert inspect({"reason": "", "grade": 2}, was_corrected=True).state is VerdictState.PASSED


@pytest.mark.parametrize(
    "changes",
    [
        {"question": ""},
        {"answer": " "},
        {"question": LENGTH.question, "answer": "17.6 km", "evidence": []},
        {"grade": 3},
        {"grade": None},
    ],
)
def test_invalid_correction_is_unreadable(changes: dict[str, object]) -> None:
    assert inspect({**CORRECTION, **changes}).reason == "verdict_unreadable"


def test_inspection_request_contains_the_whole_draft_and_documents() -> None:
    ask = ScriptedJudge(TestInspection().reply)
    GATE.verdicts([replace(LENGTH, expression="1 + 1")], CORPUS, ask)
    text = user_prompt(ask.requests[0])
    assert text.startswith(
        f"{LENGTH.question}|[1] 17.6 km|[1] [1] Line 2|1 + 1|\n<document 1>The Oakham tram\n[1] Line"
    )
    assert "[2] It has 19 stops." in text
    assert not GATE.applies_to(replace(LENGTH, kind=Kind.CORRECTION))
