"""The class of a failure."""

import pytest

from components.forensics.failures import Failure, classify_failure
from components.forensics.outcomes import Outcome
from components.forensics.sources import EvidenceUse
from components.forensics.stages import BROKEN, EvidenceStage


def failure(stage: EvidenceStage, outcome: Outcome, use: EvidenceUse | None = None, **known: bool) -> Failure:
    return classify_failure(stage, outcome, use, **{"answerable": True, "is_filtered": False, **known})


@pytest.mark.parametrize("stage", EvidenceStage)
@pytest.mark.parametrize("outcome", [Outcome.RIGHT, Outcome.TYPICAL])
def test_right_answer_never_counts_as_failed(stage: EvidenceStage, outcome: Outcome) -> None:
    assert failure(stage, outcome) is Failure.NONE


@pytest.mark.parametrize("stage", BROKEN)
@pytest.mark.parametrize("outcome", [Outcome.WRONG, Outcome.PARTLY, Outcome.LOW, Outcome.REFUSED, Outcome.NOT_JUDGED])
def test_lost_evidence_explains_a_failure(stage: EvidenceStage, outcome: Outcome) -> None:
    assert failure(stage, outcome) == stage.value


@pytest.mark.parametrize("stage", EvidenceStage)
@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.EMPTY, Outcome.TRUNCATED])
def test_missing_answer_is_a_separate_failure(stage: EvidenceStage, outcome: Outcome) -> None:
    assert failure(stage, outcome) == outcome.value


def test_answer_withheld_by_the_provider_is_a_failure() -> None:
    assert failure(EvidenceStage.NOT_RETRIEVED, Outcome.REFUSED, is_filtered=True) is Failure.REFUSED


@pytest.mark.parametrize(
    ("outcome", "use", "expected"),
    [
        (Outcome.WRONG, EvidenceUse.DISTRACTED, Failure.DISTRACTED),
        (Outcome.WRONG, EvidenceUse.UNUSED, Failure.UNUSED),
        (Outcome.WRONG, EvidenceUse.WRONG_WITH_EVIDENCE, Failure.WRONG_WITH_EVIDENCE),
        (Outcome.WRONG, None, Failure.WRONG_WITH_EVIDENCE),
        (Outcome.PARTLY, None, Failure.PARTLY),
        (Outcome.LOW, None, Failure.LOW),
        (Outcome.REFUSED, None, Failure.REFUSED),
        (Outcome.NOT_JUDGED, None, Failure.NONE),
    ],
)
def test_failure_with_evidence_in_the_prompt_depends_on_the_answer(
    outcome: Outcome, use: EvidenceUse | None, expected: Failure
) -> None:
    assert failure(EvidenceStage.IN_CONTEXT, outcome, use) is expected


@pytest.mark.parametrize("stage", [EvidenceStage.NO_GOLD, EvidenceStage.NOT_SEARCHED])
def test_wrong_answer_without_gold_evidence_is_unexplained(stage: EvidenceStage) -> None:
    assert failure(stage, Outcome.WRONG) is Failure.UNEXPLAINED
    assert failure(stage, Outcome.REFUSED) is Failure.REFUSED
    assert failure(stage, Outcome.NOT_JUDGED) is Failure.NONE


def test_answer_to_an_unanswerable_question_is_a_false_answer() -> None:
    assert failure(EvidenceStage.NO_GOLD, Outcome.WRONG, answerable=False) is Failure.FALSE_ANSWER
    assert failure(EvidenceStage.NOT_RETRIEVED, Outcome.WRONG, answerable=False) is Failure.FALSE_ANSWER
    assert failure(EvidenceStage.NO_GOLD, Outcome.NOT_JUDGED, answerable=False) is Failure.NONE


def test_failure_classes_cover_every_use_and_lost_stage() -> None:
    assert {use.value for use in EvidenceUse} | {stage.value for stage in BROKEN} <= {own.value for own in Failure}
