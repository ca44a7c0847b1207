"""Classes of failures, derived from the path of the evidence and the outcome of the answer."""

from enum import StrEnum

from components.forensics.outcomes import Outcome
from components.forensics.sources import EvidenceUse
from components.forensics.stages import BROKEN, EvidenceStage


class Failure(StrEnum):
    """Why a sample failed; NONE if it did not.

    - names of stages: the evidence was lost there;
    - ERROR, EMPTY, REFUSED, TRUNCATED: the way in which the answer ended, with or without evidence. A refusal in words
      is a failure only if the evidence is in the prompt. Otherwise it is honest;
    - DISTRACTED, INVENTED, UNUSED, WRONG_WITH_EVIDENCE, PARTLY, LOW: failures with the evidence in the prompt;
    - UNEXPLAINED: an answer that is not right, if the sample names no evidence or the cell retrieves nothing;
    - FALSE_ANSWER: an answer to an unanswerable question.
    """

    NONE = ""
    NOT_IN_CORPUS = "not_in_corpus"
    NOT_RETRIEVED = "not_retrieved"
    CUT = "cut"
    IN_PART = "in_part"
    RANKED_LOW = "ranked_low"
    DROPPED = "dropped"
    COMPRESSED = "compressed"
    DISTRACTED = "distracted"
    INVENTED = "invented"
    UNUSED = "unused"
    WRONG_WITH_EVIDENCE = "wrong_with_evidence"
    PARTLY = "partly"
    LOW = "low"
    FALSE_ANSWER = "false_answer"
    UNEXPLAINED = "unexplained"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    ERROR = "error"


_REGARDLESS_OF_EVIDENCE = {
    Outcome.ERROR: Failure.ERROR,
    Outcome.EMPTY: Failure.EMPTY,
    Outcome.TRUNCATED: Failure.TRUNCATED,
}
_WITH_EVIDENCE = {Outcome.REFUSED: Failure.REFUSED, Outcome.PARTLY: Failure.PARTLY, Outcome.LOW: Failure.LOW}


def classify_failure(
    stage: EvidenceStage, outcome: Outcome, use: EvidenceUse | None, *, answerable: bool, is_filtered: bool
) -> Failure:
    """Return the failure class of one sample.

    `use` is given for wrong answers with evidence in the prompt, and None otherwise. `is_filtered` marks an answer that
    the model's provider refused.
    """
    if outcome in (Outcome.RIGHT, Outcome.TYPICAL):
        return Failure.NONE
    if is_filtered:
        return Failure.REFUSED
    if outcome in _REGARDLESS_OF_EVIDENCE:
        return _REGARDLESS_OF_EVIDENCE[outcome]
    if not answerable:
        return Failure.NONE if outcome is Outcome.NOT_JUDGED else Failure.FALSE_ANSWER
    if stage in BROKEN:
        return Failure(stage.value)
    if outcome is Outcome.NOT_JUDGED:
        return Failure.NONE
    if stage is not EvidenceStage.IN_CONTEXT:
        return Failure.REFUSED if outcome is Outcome.REFUSED else Failure.UNEXPLAINED
    return _WITH_EVIDENCE.get(outcome) or Failure(use or EvidenceUse.WRONG_WITH_EVIDENCE)
