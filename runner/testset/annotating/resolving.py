"""From what several people said of a sample to what is changed about it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from components.json_value import Json
from components.records import Sample
from runner.results.released_set import Edit, Testset
from runner.results.set_lines import sample_line
from runner.testset.annotating.annotation_histories import Change, changed_histories
from runner.testset.annotating.annotations import Annotation

FIELDS = ("question", "references", "gold", "topic")
"""Of a sample, what annotators change."""


@dataclass(frozen=True)
class Conflict:
    """Why a sample stays as it was: what cannot be understood, or what two people say of one field."""

    sample: str
    detail: str


class Resolved(NamedTuple):
    """The samples with what was changed, in their order, and the edits that changed them."""

    samples: tuple[Sample, ...]
    edits: tuple[Edit, ...]
    conflicts: tuple[Conflict, ...]


def resolve(testset: Testset, annotations: Sequence[Annotation], prefer: str | None = None) -> Resolved:
    """A field is changed where all who annotated the sample say the same of it; where they do not, nothing about the
    sample is changed: another answer may be right for another question only. Where `prefer` annotated it, they alone
    count. White space around texts and the way in which lines end are no change. Later turns of a conversation get the
    edited turn for their history.
    """
    by_sample: defaultdict[str, list[Annotation]] = defaultdict(list)
    for own in annotations:
        by_sample[own.sample].append(own)
    edited: dict[str, Change] = {}
    conflicts: list[Conflict] = []
    for sample in testset.samples:
        given = by_sample[sample.id]
        by_sample[sample.id] = given = [own for own in given if own.annotator == prefer] or given
        found = list(_conflicts(sample, given))
        conflicts += found
        if not found and (changes := dict(_changes(sample, given))):
            edited[sample.id] = Change(sample, replace(sample, **changes))
    samples = {sample.id: sample for sample in testset.samples}
    edits = []
    for name, change in edited.items():
        samples[name] = change.after
        edits += [_edit(change, field, _who_said(by_sample[name], field), testset) for field in _changed(change)]
    for history in changed_histories(testset, list(edited.values())):
        before = samples[history.sample]
        samples[history.sample] = after = replace(before, history=history.turns)
        given = [own for name in history.edited for own in by_sample[name]]
        edits.append(_edit(Change(before, after), "history", _who_said(given, "question", "references"), testset))
    return Resolved(tuple(samples.values()), tuple(edits), tuple(conflicts))


def _changed(change: Change) -> list[str]:
    return [name for name in FIELDS if getattr(change.before, name) != getattr(change.after, name)]


def _who_said(given: Sequence[Annotation], *fields: str) -> tuple[str, ...]:
    """Those who said something of one of the fields; who did, agreed."""
    return tuple(sorted({own.annotator for own in given if any(getattr(own, name) is not None for name in fields)}))


def _edit(change: Change, name: str, by: tuple[str, ...], testset: Testset) -> Edit:
    before, after = (sample_line(sample)[name] for sample in change)
    return Edit(change.before.id, name, before, after, by, testset.key)


def _conflicts(sample: Sample, given: Sequence[Annotation]) -> Iterator[Conflict]:
    for own in given:
        yield from (Conflict(sample.id, f"{own.annotator}: {problem}") for problem in own.problems)
    if any(own.problems for own in given):
        return
    for name in FIELDS:
        said: dict[Json, list[str]] = {}
        for own in given:
            if getattr(own, name) is not None:
                said.setdefault(_comparable(getattr(own, name)), []).append(own.annotator)
        if len(said) > 1:
            who = " / ".join(", ".join(names) for names in said.values())
            yield Conflict(sample.id, f"{name}: {who} say different things")


def _changes(sample: Sample, given: Iterable[Annotation]) -> Iterator[tuple[str, Json]]:
    """Of annotations that agree."""
    for name in FIELDS:
        value = next((value for own in given if (value := getattr(own, name)) is not None), None)
        if value is not None and _comparable(value) != _comparable(getattr(sample, name)):
            yield name, value


def _comparable(value: Json) -> Json:
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if isinstance(value, tuple):
        parts = tuple(map(_comparable, value))
        return parts if all(isinstance(part, str) for part in parts) else frozenset(parts)
    return value
