"""Resolves the annotations of several people into changes of samples."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from components.json_value import Json
from components.records import Sample, Turn
from runner.results.released_set import Edit, Testset
from runner.results.set_lines import sample_line
from runner.testset.annotating.annotations import Annotation

FIELDS = ("question", "references", "gold", "topic")
"""Fields of a sample that annotators can change."""


@dataclass(frozen=True)
class Conflict:
    """The reason why a sample is not changed: an entry that cannot be interpreted, or a field on which two people
    disagree.
    """

    sample: str
    detail: str


class Change(NamedTuple):
    """A sample of a set before and after it was edited."""

    before: Sample
    after: Sample


class AnnotationHistory(NamedTuple):
    """The new history of a sample, and the ids of the edited samples whose turns it contains."""

    sample: str
    turns: tuple[Turn, ...]
    edited: tuple[str, ...]


class Resolution(NamedTuple):
    """The samples with all changes, in their order, the edits that were applied, and the conflicts."""

    samples: tuple[Sample, ...]
    edits: tuple[Edit, ...]
    conflicts: tuple[Conflict, ...]


def resolve_annotations(testset: Testset, annotations: Sequence[Annotation], prefer: str | None = None) -> Resolution:
    """Change the fields on which all annotators of a sample agree.

    If they disagree on any field, the whole sample stays as it is, because the other changes may depend on it. If
    `prefer` annotated a sample, only that annotation counts. Differences in surrounding whitespace and line endings
    are ignored. Histories of later turns of a conversation get the edited turn.
    """
    by_sample: defaultdict[str, list[Annotation]] = defaultdict(list)
    for annotation in annotations:
        by_sample[annotation.sample].append(annotation)
    edited: dict[str, Change] = {}
    conflicts: list[Conflict] = []
    for sample in testset.samples:
        sample_annotations = by_sample[sample.id]
        by_sample[sample.id] = sample_annotations = [
            each for each in sample_annotations if each.annotator == prefer
        ] or sample_annotations
        problems = list(_conflicts(sample, sample_annotations))
        conflicts += problems
        if not problems and (changes := dict(_changes(sample, sample_annotations))):
            edited[sample.id] = Change(sample, replace(sample, **changes))
    samples = {sample.id: sample for sample in testset.samples}
    edits = []
    for name, change in edited.items():
        samples[name] = change.after
        edits += [
            _edit(change, field, _list_annotators(by_sample[name], field), testset) for field in _changed_fields(change)
        ]
    for history in changed_histories(testset, list(edited.values())):
        before = samples[history.sample]
        samples[history.sample] = after = replace(before, history=history.turns)
        sample_annotations = [annotation for name in history.edited for annotation in by_sample[name]]
        edits.append(
            _edit(
                Change(before, after),
                "history",
                _list_annotators(sample_annotations, "question", "references"),
                testset,
            )
        )
    return Resolution(tuple(samples.values()), tuple(edits), tuple(conflicts))


def _changed_fields(change: Change) -> list[str]:
    return [name for name in FIELDS if getattr(change.before, name) != getattr(change.after, name)]


def _list_annotators(annotations: Sequence[Annotation], *fields: str) -> tuple[str, ...]:
    """Return the annotators who filled in one of the fields. They all agree."""
    filled = (each for each in annotations if any(getattr(each, name) is not None for name in fields))
    return tuple(sorted({each.annotator for each in filled}))


def _edit(change: Change, name: str, annotators: tuple[str, ...], testset: Testset) -> Edit:
    before, after = (sample_line(sample)[name] for sample in change)
    return Edit(change.before.id, name, before, after, annotators, testset.key)


def _conflicts(sample: Sample, annotations: Sequence[Annotation]) -> Iterator[Conflict]:
    for annotation in annotations:
        yield from (Conflict(sample.id, f"{annotation.annotator}: {problem}") for problem in annotation.problems)
    if any(annotation.problems for annotation in annotations):
        return
    for name in FIELDS:
        answers: dict[Json, list[str]] = {}
        for annotation in annotations:
            if getattr(annotation, name) is not None:
                answers.setdefault(_normalize(getattr(annotation, name)), []).append(annotation.annotator)
        if len(answers) > 1:
            sides = " / ".join(", ".join(names) for names in answers.values())
            yield Conflict(sample.id, f"{name}: {sides} disagree")


def _changes(sample: Sample, annotations: Iterable[Annotation]) -> Iterator[tuple[str, Json]]:
    """Yield (field, new value) of annotations that agree."""
    for name in FIELDS:
        value = next((value for annotation in annotations if (value := getattr(annotation, name)) is not None), None)
        if value is not None and _normalize(value) != _normalize(getattr(sample, name)):
            yield name, value


def _normalize(value: Json) -> Json:
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if isinstance(value, tuple):
        parts = tuple(map(_normalize, value))
        return parts if all(isinstance(part, str) for part in parts) else frozenset(parts)
    return value


def changed_histories(testset: Testset, changes: Sequence[Change]) -> Iterator[AnnotationHistory]:
    """Yield the new history of every sample whose history contains an edited turn.

    A turn belongs to an edited sample if it has the same question after the same earlier questions. If the set names
    conversations, it must be in the same one. An answer stays as it is unless it was the first reference of the edited
    sample.
    """
    edited: dict[tuple[str, tuple[str, ...]], Change] = {}
    for change in changes:
        questions = tuple(turn.question for turn in change.before.history)
        edited[_conversation(change.before, testset), (*questions, change.before.question)] = change
    for sample in testset.samples:
        questions = tuple(turn.question for turn in sample.history)
        conversation = _conversation(sample, testset)
        edited_turns = [edited.get((conversation, questions[: n + 1])) for n in range(len(questions))]
        if ids := tuple(change.before.id for change in edited_turns if change):
            turns = tuple(_turn(turn, change) for turn, change in zip(sample.history, edited_turns, strict=True))
            yield AnnotationHistory(sample.id, turns, ids)


def _conversation(sample: Sample, testset: Testset) -> str:
    return str(testset.provenance.get(sample.id, {}).get("conversation") or "")


def _turn(turn: Turn, change: Change | None) -> Turn:
    if change is None:
        return turn
    is_reference = change.before.references[:1] == (turn.answer,)
    return Turn(change.after.question, change.after.references[0] if is_reference else turn.answer)
