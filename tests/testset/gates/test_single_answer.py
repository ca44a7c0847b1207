import json
from dataclasses import replace

import pytest

from components.records import Kind, Request
from components.testset.gates.single_answer import SingleAnswer
from components.testset.records import VerdictState
from components.testset.wording import Wording
from tests.contracts.asking_gate_contract import AskingGateContract
from tests.contracts.judge_contract import ScriptedJudge, failed
from tests.testset.corpora import SmallCorpus
from tests.testset.gates.asking import CORPUS, LATER, LENGTH, LLM, draft, user_prompt

WORDING = Wording("", "{question}|{references}|{documents}", "Again.")
GATE = SingleAnswer(LLM, WORDING, n_distractors=2, max_attempts=2, tags=False)


class TestSingleAnswer(AskingGateContract):
    component = GATE
    corpus = CORPUS
    good = LENGTH
    bad = draft("What had 19 of them in Oakham?", "line 2 of the tram", "tram")
    reason = "several_answers"

    def reply(self, request: Request) -> str:
        question, _, documents = user_prompt(request).split("|")
        number = 1 if "fair" in documents.split("</document 1>")[0] else 2
        other = "the fair" if "19" in question else ""
        return json.dumps({"reason": "", "other_answer": other, "document": number if other else 0})


def test_gold_and_removed_documents_are_not_distractors() -> None:
    ask = ScriptedJudge(TestSingleAnswer().reply)
    (verdict,) = GATE.verdicts([LENGTH], CORPUS, ask)
    assert verdict.state is VerdictState.PASSED
    assert verdict.draft is not None
    assert verdict.draft.notes == {"distractors": "bank [0:57]; fair [0:49]"}
    assert "Line 2 of the Oakham tram" not in user_prompt(ask.requests[0])
    (verdict,) = GATE.verdicts([replace(LENGTH, removed=("bank",))], CORPUS, ask)
    assert verdict.draft is not None
    assert verdict.draft.notes == {"distractors": "fair [0:49]"}


def test_verdict_detail_names_the_document_with_another_answer() -> None:
    (verdict,) = GATE.verdicts([TestSingleAnswer.bad], CORPUS, ScriptedJudge(TestSingleAnswer().reply))
    assert verdict.detail == "fair [0:49]: the fair"
    assert verdict.draft is not None
    assert "fair [0:49]" in verdict.draft.notes["distractors"]


def test_single_answer_gate_without_distractors_asks_no_model() -> None:
    ask = ScriptedJudge(failed)
    alone = SmallCorpus({"tram": CORPUS.texts["tram"]})
    assert GATE.verdicts([LENGTH], alone, ask)[0].state is VerdictState.PASSED
    assert ask.calls == []


@pytest.mark.parametrize("number", [0, 3, -1, None])
def test_other_answer_without_a_shown_document_is_unreadable(number: int | None) -> None:
    ask = ScriptedJudge(lambda _: json.dumps({"reason": "", "other_answer": "the fair", "document": number}))
    assert GATE.verdicts([LENGTH], CORPUS, ask)[0].reason == "verdict_unreadable"


def test_distractors_of_a_turn_are_searched_with_its_history() -> None:
    searched: list[str] = []

    class Watched(SmallCorpus):
        def nearest(self, queries, n, **how):  # type: ignore[no-untyped-def]
            searched.extend(queries)
            return super().nearest(queries, n, **how)

    GATE.verdicts([LATER], Watched(CORPUS.texts), ScriptedJudge(TestSingleAnswer().reply))
    assert searched == ["How long is line 2 of the Oakham tram?\nAnd how many stops has it?"]
    assert not GATE.applies_to(replace(LENGTH, kind=Kind.LONG_FORM))


def test_distractors_do_not_depend_on_other_drafts() -> None:
    depths: dict[str, int] = {}

    class Watched(SmallCorpus):
        def nearest(self, queries, n, **how):  # type: ignore[no-untyped-def]
            depths.update(dict.fromkeys(queries, n))
            return super().nearest(queries, n, **how)

    more = replace(LENGTH, id="more", question="How long are both?", removed=("elsewhere",))
    verdicts = GATE.verdicts([more, LENGTH], Watched(CORPUS.texts), ScriptedJudge(TestSingleAnswer().reply))
    assert depths[more.question] == depths[LENGTH.question] + 1
    assert verdicts[1] == GATE.verdicts([LENGTH], CORPUS, ScriptedJudge(TestSingleAnswer().reply))[0]
