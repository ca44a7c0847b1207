"""The verdict on one row of the table of samples."""

from typing import Any

import pytest

from components.forensics.failures import Failure
from components.forensics.outcomes import Outcome
from components.forensics.sources import Rule
from components.forensics.stages import EvidenceStage
from components.forensics.verdicts import PromptTexts, examine

UNIT = {"document_id": "d", "start": 0, "end": 10, "grade": 1, "n_characters": 10, "n_in_context": 10}
ROW: dict[str, Any] = {
    "kind": "qa",
    "question": "Who built it?",
    "references": ["Ada Stone"],
    "answer_parts": [],
    "answerable": True,
    "gold": [UNIT],
    "found_gold": [{"rank": 1, "gold": 0, "start": 0, "end": 10}],
    "answer": "Somebody from the north of the town",
    "state": "ok",
}
CLOSED_BOOK = {"found_gold": None, "gold": [{**UNIT, "n_characters": None, "n_in_context": None}]}
LOST = {"found_gold": [], "gold": [{**UNIT, "n_in_context": 0}]}


@pytest.mark.parametrize(
    ("changed", "stage", "outcome", "failure"),
    [
        ({}, EvidenceStage.IN_CONTEXT, Outcome.WRONG, Failure.WRONG_WITH_EVIDENCE),
        ({"answer": "Ada Stone"}, EvidenceStage.IN_CONTEXT, Outcome.RIGHT, Failure.NONE),
        (CLOSED_BOOK, EvidenceStage.NOT_SEARCHED, Outcome.WRONG, Failure.UNEXPLAINED),
        ({"gold": [], "found_gold": []}, EvidenceStage.NO_GOLD, Outcome.WRONG, Failure.UNEXPLAINED),
        ({"state": "not_asked", "answer": ""}, EvidenceStage.IN_CONTEXT, Outcome.NOT_JUDGED, Failure.NONE),
        (
            {"state": "not_asked", "answer": "", **LOST},
            EvidenceStage.NOT_RETRIEVED,
            Outcome.NOT_JUDGED,
            Failure.NOT_RETRIEVED,
        ),
        (
            {"state": "not_asked", "answer": "", **CLOSED_BOOK},
            EvidenceStage.NOT_SEARCHED,
            Outcome.NOT_JUDGED,
            Failure.NONE,
        ),
        ({"answer": "I do not know.", **LOST}, EvidenceStage.NOT_RETRIEVED, Outcome.REFUSED, Failure.NOT_RETRIEVED),
        ({"answer": "I do not know."}, EvidenceStage.IN_CONTEXT, Outcome.REFUSED, Failure.REFUSED),
        ({"state": "refused", "answer": "", **LOST}, EvidenceStage.NOT_RETRIEVED, Outcome.REFUSED, Failure.REFUSED),
        (
            {"answerable": False, "references": [], **LOST},
            EvidenceStage.NOT_RETRIEVED,
            Outcome.WRONG,
            Failure.FALSE_ANSWER,
        ),
    ],
)
def test_stage_and_outcome_decide_the_failure_class(
    changed: dict[str, Any], stage: EvidenceStage, outcome: Outcome, failure: Failure
) -> None:
    verdict = examine({**ROW, **changed}, 2, None, None).verdict()
    assert (verdict.stage, verdict.outcome, verdict.failure) == (stage, outcome, failure)


def test_wrong_answer_is_searched_for_in_the_prompt() -> None:
    examined = examine(ROW, 2, None, None)
    assert examined.needs_texts
    texts = PromptTexts(["Ada Stone built the bridge."], ["Somebody from the north of the town was there."])
    assert examined.verdict(texts).failure is Failure.DISTRACTED
    assert examined.verdict(texts).doubts == ()
    assert not examine({**ROW, "answer": "Ada Stone"}, 2, None, None).needs_texts


@pytest.mark.parametrize(
    ("faithfulness", "failure"), [(1.0, Failure.DISTRACTED), (0.9, Failure.INVENTED), (0.0, Failure.INVENTED)]
)
def test_faithfulness_decides_the_origin_before_shared_characters(faithfulness: float, failure: Failure) -> None:
    examined = examine({**ROW, "score/faithfulness": faithfulness}, 2, None, None)
    assert not examined.needs_texts
    verdict = examined.verdict()
    assert (verdict.failure, verdict.rule, verdict.doubts) == (failure, Rule.CLAIMS, ())


def test_shared_characters_decide_without_a_faithfulness_value() -> None:
    examined = examine({**ROW, "score/faithfulness": None}, 2, None, None)
    verdict = examined.verdict(PromptTexts(["Nothing alike."], []))
    assert (verdict.failure, verdict.rule) == (Failure.UNUSED, Rule.CHARACTERS)


@pytest.mark.parametrize("changed", [{"answer": "Ada Stone"}, LOST, {"answer": "I do not know."}])
def test_class_without_an_origin_has_no_rule(changed: dict[str, Any]) -> None:
    assert examine({**ROW, "score/faithfulness": 0.0, **changed}, 2, None, None).verdict().rule is None


def test_short_answers_and_missing_texts_are_doubtful() -> None:
    short = examine({**ROW, "answer": "Wood"}, 2, None, None)
    assert short.verdict(PromptTexts([], ["Wood"])).doubts == ("short answer",)
    assert short.verdict().doubts == ("texts not stored",)


def test_whole_document_gold_is_doubtful_only_if_it_decides() -> None:
    part = {"gold": [{**UNIT, "start": None, "end": None, "n_characters": 100}]}
    assert examine({**ROW, **part}, 2, None, None).verdict().doubts == ("whole document",)
    assert examine({**ROW, **part, "answer": "Ada Stone"}, 2, None, None).verdict().doubts == ()
    assert examine({**ROW, **part, "state": "error"}, 2, None, None).verdict().doubts == ()


def test_gold_longer_than_every_hit_is_partly_in_the_prompt() -> None:
    part = {"gold": [{**UNIT, "n_characters": 100, "end": 100, "n_in_context": 30}]}
    begun = {**ROW, **part, "found_gold": [{"rank": 1, "gold": 0, "start": 0, "end": 30}]}
    hits = [{"rank": 1, "start": 0, "end": 20}, {"rank": 1, "start": 40, "end": 50}, {"rank": 2, "start": 0, "end": 29}]
    assert examine(begun, 2, None, None).verdict().failure is Failure.CUT
    verdict = examine({**begun, "retrieved": hits}, 2, None, None).verdict()
    assert (verdict.stage, verdict.failure, verdict.doubts) == (EvidenceStage.IN_PART, Failure.IN_PART, ("long gold",))
    hits[2]["end"] = 100
    assert examine({**begun, "retrieved": hits}, 2, None, None).verdict().failure is Failure.CUT


def test_gold_alternatives_are_read_from_the_sample_row() -> None:
    other = {**UNIT, "document_id": "e", "n_in_context": 0}
    assert examine({**ROW, "gold": [UNIT, other]}, 2, None, None).stage.stage is EvidenceStage.NOT_RETRIEVED
    either = [{**unit, "one_of": 1} for unit in (UNIT, other)]
    assert examine({**ROW, "gold": either}, 2, None, None).stage.stage is EvidenceStage.IN_CONTEXT


def test_long_text_verdict_follows_its_metric() -> None:
    story = {**ROW, "kind": "continuation"}
    assert examine(story, 2, 0.1, 0.2).verdict().failure is Failure.LOW
    assert examine(story, 2, 0.3, 0.2).verdict().failure is Failure.NONE
    assert examine({**story, **LOST}, 2, 0.1, 0.2).verdict().failure is Failure.NOT_RETRIEVED
