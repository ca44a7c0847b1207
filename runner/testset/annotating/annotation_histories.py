"""Turns of a conversation after one that was edited: what stands in their history is that turn."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from components.records import Sample, Turn
from runner.results.released_set import Testset


class Change(NamedTuple):
    """A sample of a set before and after it was edited."""

    before: Sample
    after: Sample


class AnnotationHistory(NamedTuple):
    """What the history of a sample is now, and the ids of the edited samples that are turns of it."""

    sample: str
    turns: tuple[Turn, ...]
    edited: tuple[str, ...]


def changed_histories(testset: Testset, changes: Sequence[Change]) -> Iterator[AnnotationHistory]:
    """Of all samples in whose history an edited one stands: one with the same questions up to there, in the same
    conversation where the set knows conversations by name.

    An answer that is not the first reference of the edited sample stays as it is: it was another one before.
    """
    edited: dict[tuple[str, tuple[str, ...]], Change] = {}
    for change in changes:
        questions = tuple(turn.question for turn in change.before.history)
        edited[_conversation(change.before, testset), (*questions, change.before.question)] = change
    for sample in testset.samples:
        questions = tuple(turn.question for turn in sample.history)
        conversation = _conversation(sample, testset)
        found = {number: edited.get((conversation, questions[: number + 1])) for number in range(len(questions))}
        if ids := tuple(change.before.id for change in found.values() if change):
            yield AnnotationHistory(
                sample.id, tuple(_turn(turn, found[n]) for n, turn in enumerate(sample.history)), ids
            )


def _conversation(sample: Sample, testset: Testset) -> str:
    return str(testset.provenance.get(sample.id, {}).get("conversation") or "")


def _turn(turn: Turn, change: Change | None) -> Turn:
    if change is None:
        return turn
    is_reference = change.before.references[:1] == (turn.answer,)
    return Turn(change.after.question, change.after.references[0] if is_reference else turn.answer)
