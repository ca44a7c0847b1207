"""Which of the passages in its prompt an answer was taken from, by runs of characters that both have."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

RUN = 8
"""Characters, white space apart; of a shorter answer all of it."""
_BETWEEN = "\n"
"""No run has one."""
DISTRACTED_FROM, UNUSED_BELOW = 0.3, 0.1


class Use(StrEnum):
    """What an answer that is not right made of the evidence in its prompt: it follows other passages (DISTRACTED), it
    took nothing from the evidence (UNUSED), or it did and is wrong all the same.
    """

    DISTRACTED = "distracted"
    UNUSED = "unused"
    WRONG_WITH_EVIDENCE = "wrong_with_evidence"


@dataclass(frozen=True)
class Shares:
    """How much of an answer's characters lie in runs that passages with gold have, and that other passages have."""

    gold: float
    others: float


def use_of(shares: Shares) -> Use:
    """What became of the evidence."""
    if shares.others >= DISTRACTED_FROM and shares.others > shares.gold:
        return Use.DISTRACTED
    return Use.UNUSED if shares.gold < UNUSED_BELOW else Use.WRONG_WITH_EVIDENCE


def shares_of(answer: str, gold: Sequence[str], others: Sequence[str]) -> Shares:
    """The shares of an answer in the passages of its prompt that hold gold, and in the others; 0 for an empty one."""
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
