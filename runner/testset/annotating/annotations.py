"""What people said of samples, whatever tool they said it with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.errors import DataError
from components.records import Evidence

HIGHEST_RATING = 5


class Check(StrEnum):
    """What is asked of every sample, with yes or no: whether the question is what its task asks for, belongs to its
    topic and can be understood, whether the answer is right and whole, and whether the marked passages are.

    Source: the five aspects that the annotators of OmniEval looked at.
    """

    TASK = "task"
    TOPIC = "topic"
    QUESTION = "question"
    ANSWER = "answer"
    EVIDENCE = "evidence"


@dataclass(frozen=True)
class Annotation:
    """What one person said of one sample; None for what they said nothing of. `rating` is 1 to 5. `problems` are what
    cannot be understood of it, in words: nothing is changed by an annotation that has one.
    """

    sample: str
    annotator: str
    rating: int | None = None
    checks: Mapping[Check, bool] = field(default_factory=dict)
    topic: str | None = None
    question: str | None = None
    references: tuple[str, ...] | None = None
    gold: tuple[Evidence, ...] | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Annotated:
    """The annotations of some files, and what was left out: tasks that were skipped, those with a draft that nobody
    submitted, those without any annotation, annotations of samples that this version no longer has, and controls or
    columns that are none of ours.
    """

    annotations: tuple[Annotation, ...] = ()
    n_skipped: int = 0
    n_drafts: int = 0
    n_untouched: int = 0
    n_of_removed: int = 0
    others: frozenset[str] = frozenset()


def joined(parts: Iterable[tuple[str, Annotated]]) -> Annotated:
    """Several files together, each with its name. Raises DataError where a sample has two annotations by one annotator:
    two people would be taken for one.
    """
    parts = list(parts)
    seen: dict[tuple[str, str], str] = {}
    for file, part in parts:
        for own in part.annotations:
            if first := seen.get((own.sample, own.annotator)):
                where = "twice" if first == file else f"here and in {first}"
                raise DataError(
                    f"{file}: '{own.annotator}' annotated the sample '{own.sample}' {where}. If these are two "
                    "people, give each a file of their own name, and say --annotator-from file; else leave out one."
                )
            seen[own.sample, own.annotator] = file
    found = [part for _, part in parts]
    return Annotated(
        tuple(own for part in found for own in part.annotations),
        sum(part.n_skipped for part in found),
        sum(part.n_drafts for part in found),
        sum(part.n_untouched for part in found),
        sum(part.n_of_removed for part in found),
        frozenset(name for part in found for name in part.others),
    )
