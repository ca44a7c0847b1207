"""The origin of an answer: by a judge's verdicts on its claims, or by runs of characters that passages contain."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

RUN = 8
"""Characters in a run, without whitespace. The whole answer if it is shorter."""
_BETWEEN = "\n"
"""Separator that no run contains."""
DISTRACTED_FROM, UNUSED_BELOW = 0.3, 0.1


class EvidenceUse(StrEnum):
    """The use that a wrong answer made of the evidence in its prompt.

    - DISTRACTED: it follows other passages; of a judged answer, all of its claims are in the prompt;
    - INVENTED: some claim of a judged answer is in no passage;
    - UNUSED: it took nothing from the evidence;
    - WRONG_WITH_EVIDENCE: it used the evidence, but is wrong.
    """

    DISTRACTED = "distracted"
    INVENTED = "invented"
    UNUSED = "unused"
    WRONG_WITH_EVIDENCE = "wrong_with_evidence"


class Rule(StrEnum):
    """The rule by which the use of the evidence was found: a judge's verdicts on claims, or shared characters."""

    CLAIMS = "claims"
    CHARACTERS = "characters"


@dataclass(frozen=True)
class Shares:
    """Shares of an answer's characters in runs of passages with gold, and in runs of other passages."""

    gold: float
    others: float


def evidence_use(shares: Shares) -> EvidenceUse:
    """Return the use of the evidence by its shares."""
    if shares.others >= DISTRACTED_FROM and shares.others > shares.gold:
        return EvidenceUse.DISTRACTED
    return EvidenceUse.UNUSED if shares.gold < UNUSED_BELOW else EvidenceUse.WRONG_WITH_EVIDENCE


def claim_use(faithfulness: float) -> EvidenceUse:
    """Return the use of the evidence by the share of the answer's claims that the passages support."""
    return EvidenceUse.DISTRACTED if faithfulness == 1.0 else EvidenceUse.INVENTED


def measure_shares(answer: str, gold: Sequence[str], others: Sequence[str]) -> Shares:
    """Return the shares of an answer in the prompt's passages with gold, and in the others; 0 for an empty answer."""
    text = _compact(answer)
    return Shares(_share(text, gold), _share(text, others))


def _share(answer: str, passages: Sequence[str]) -> float:
    if not answer:
        return 0.0
    text = _BETWEEN.join(map(_compact, passages))
    run = min(RUN, len(answer))
    covered = bytearray(len(answer))
    for start in range(len(answer) - run + 1):
        if answer[start : start + run] in text:
            covered[start : start + run] = b"\1" * run
    return sum(covered) / len(answer)


def _compact(text: str) -> str:
    return "".join(text.split())
