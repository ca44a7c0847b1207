"""Annotations of samples by people, independent of the tool that recorded them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.errors import DataError
from components.records import Evidence

MAX_RATING = 5


class AnnotatorCheck(StrEnum):
    """Yes-or-no questions about every sample.

    TASK: the question is of the kind that its task requests. TOPIC: it belongs to its topic. QUESTION: it can be
    understood. ANSWER: the answer is correct and complete. EVIDENCE: the marked passages are, too.

    Source: the five aspects that the annotators of OmniEval looked at.
    """

    TASK = "task"
    TOPIC = "topic"
    QUESTION = "question"
    ANSWER = "answer"
    EVIDENCE = "evidence"


@dataclass(frozen=True)
class Annotation:
    """One person's annotation of one sample. A field is None if the person did not fill it in.

    `rating` is 1 to 5. `problems` describe entries that cannot be interpreted; an annotation with any problem changes
    nothing.
    """

    sample: str
    annotator: str
    rating: int | None = None
    checks: Mapping[AnnotatorCheck, bool] = field(default_factory=dict)
    topic: str | None = None
    question: str | None = None
    references: tuple[str, ...] | None = None
    gold: tuple[Evidence, ...] | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnnotationSet:
    """The annotations of some files, and counts of what was left out.

    `n_skipped` are cancelled annotations, `n_drafts` tasks with a draft that was not submitted, `n_untouched` tasks
    without annotation, and `n_of_removed` annotations of samples that this version no longer has. `others` names
    unknown controls and columns.
    """

    annotations: tuple[Annotation, ...] = ()
    n_skipped: int = 0
    n_drafts: int = 0
    n_untouched: int = 0
    n_of_removed: int = 0
    others: frozenset[str] = frozenset()


def join_annotations(parts: Iterable[tuple[str, AnnotationSet]]) -> AnnotationSet:
    """Return the annotations of several named files as one.

    Raises DataError if one annotator annotated a sample twice: two people may have the same name.
    """
    parts = list(parts)
    seen: dict[tuple[str, str], str] = {}
    for file, part in parts:
        for each in part.annotations:
            if first := seen.get((each.sample, each.annotator)):
                location = "twice" if first == file else f"here and in {first}"
                raise DataError(
                    f"{file}: {each.annotator!r} annotated the sample {each.sample!r} {location}. If these are two "
                    "people, give each a file with their name and use --annotator-from file; otherwise remove one of "
                    "the annotations."
                )
            seen[each.sample, each.annotator] = file
    annotated = [part for _, part in parts]
    return AnnotationSet(
        tuple(each for part in annotated for each in part.annotations),
        sum(part.n_skipped for part in annotated),
        sum(part.n_drafts for part in annotated),
        sum(part.n_untouched for part in annotated),
        sum(part.n_of_removed for part in annotated),
        frozenset(name for part in annotated for name in part.others),
    )
