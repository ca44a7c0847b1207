"""Annotations of several people, and the changes that result from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from components.errors import DataError
from components.protocols import Ask
from components.records import Evidence, Turn
from components.testset.protocols import SourceCorpus
from components.testset.records import PASSED, Draft, GateVerdict, VerdictState
from runner.testset.annotating.annotations import Annotation
from runner.testset.annotating.importing import import_annotations
from runner.testset.annotating.resolving import resolve_annotations
from tests.runner.testset.small import SAMPLES, small_set

SET = small_set()


def edited(annotator: str, question: str, sample: str = "s1") -> Annotation:
    return Annotation(sample, annotator, question=question)


def test_equal_edits_of_several_annotators_are_merged() -> None:
    found = resolve_annotations(
        SET, [edited("bo", "Why?"), edited("ann", " Why?\r\n"), Annotation("s1", "cy", rating=4)]
    )
    (edit,) = found.edits
    assert (edit.sample, edit.field, edit.before, edit.after) == ("s1", "question", SAMPLES[0].question, "Why?")
    assert (edit.by, edit.version) == (("ann", "bo"), SET.key)
    assert found.samples[0].question == "Why?"
    assert found.samples[1:] == SAMPLES[1:]


def test_conflicting_annotations_leave_the_sample_unchanged() -> None:
    other = Annotation("s1", "bo", question=SAMPLES[0].question, topic="water")
    found = resolve_annotations(SET, [edited("ann", "Why?"), other, edited("bo", "How long?", "s2")])
    assert [(own.sample, own.detail) for own in found.conflicts] == [("s1", "question: ann / bo disagree")]
    assert found.samples[0] == SAMPLES[0]
    assert found.samples[1].question == "How long?"


def test_preferred_annotator_decides_only_samples_they_edited() -> None:
    found = resolve_annotations(
        SET, [edited("ann", "Why?"), edited("bo", "How?"), edited("ann", "How far?", "s2")], "bo"
    )
    assert [own.question for own in found.samples[:2]] == ["How?", "How far?"]
    assert found.conflicts == ()
    with pytest.raises(DataError, match="--prefer: got 'cy', expected one of ann"):
        import_annotations(SET, [edited("ann", "Why?")], "cy", {})


def test_mark_order_is_not_an_edit() -> None:
    found = resolve_annotations(SET, [Annotation("s4", "ann", gold=SAMPLES[3].gold[::-1])])
    assert (found.edits, found.samples) == ((), SAMPLES)


def test_later_turns_receive_the_edited_turn_as_history() -> None:
    first, second, third = (
        replace(SAMPLES[0], id=f"t{number}", question=f"Question {number}?", references=(f"Answer {number}",))
        for number in range(3)
    )
    turns = [Turn("Question 0?", "Answer 0"), Turn("Question 1?", "another answer")]
    samples = (
        first,
        replace(second, history=tuple(turns[:1])),
        replace(third, history=tuple(turns)),
        replace(second, id="other", history=tuple(turns[:1])),
    )
    names = {"t0": "c", "t1": "c", "t2": "c", "other": "d"}
    conversations = replace(
        SET, samples=samples, provenance={name: {"conversation": own} for name, own in names.items()}
    )
    said = [Annotation("t0", "ann", references=("Answer A",)), Annotation("t1", "bo", question="Question B?")]
    found = resolve_annotations(conversations, said)
    assert found.samples[1].history == (Turn("Question 0?", "Answer A"),)
    assert found.samples[2].history == (Turn("Question 0?", "Answer A"), Turn("Question B?", "another answer"))
    assert found.samples[3] == samples[3]
    assert [(edit.sample, edit.field, edit.by) for edit in found.edits] == [
        ("t0", "references", ("ann",)),
        ("t1", "question", ("bo",)),
        ("t1", "history", ("ann",)),
        ("t2", "history", ("ann", "bo")),
    ]


def test_edited_set_names_its_parent_version() -> None:
    made = import_annotations(SET, [edited("ann", "Why?")], None, {}).testset
    assert made.key != SET.key
    assert (made.parent, len(made.edits), made.about["annotators"]) == (SET.key, 1, ["ann"])
    assert made.provenance["s1"] == SET.provenance["s1"]
    again = import_annotations(made, [edited("bo", "Why not?")], None, {}).testset
    assert again.parent == made.key
    assert [(edit.after, edit.version) for edit in again.edits] == [("Why?", SET.key), ("Why not?", made.key)]


def test_equal_content_keeps_the_set_version() -> None:
    assert import_annotations(SET, [edited("ann", SAMPLES[0].question)], None, {}).testset == SET


@dataclass(frozen=True)
class NoLongQuestions:
    """Also rejects unedited samples, which it should never see."""

    version: ClassVar[int] = 1
    llm: ClassVar[None] = None
    n_requests: ClassVar[int] = 0
    tags: ClassVar[bool] = False

    def applies_to(self, draft: Draft) -> bool:
        return draft.task == "qa"

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        assert all(unit.document_id in corpus.texts for draft in drafts for unit in draft.gold)
        return [
            GateVerdict(VerdictState.REJECTED, "too_long", draft.question) if len(draft.question) > 10 else PASSED
            for draft in drafts
        ]


def test_edited_samples_are_checked_by_the_gates() -> None:
    said = [edited("ann", "Why so?"), edited("ann", "Why on earth?", "s2"), edited("ann", "Why is it there?", "s4")]
    found = import_annotations(SET, said, None, {"form": NoLongQuestions()})
    assert [sample.id for sample in found.testset.samples] == ["s1", "s3", "s4", "s5"]
    (line,) = found.rejected
    assert (line["id"], line["gate"], line["reason"], line["detail"]) == ("s2", "form", "too_long", "Why on earth?")
    assert [edit.sample for edit in found.testset.edits] == ["s1", "s4"]


def test_edit_rejected_by_a_gate_reaches_no_history() -> None:
    later = replace(SAMPLES[0], id="later", question="Why?", history=(Turn(SAMPLES[1].question, "503 metres"),))
    conversation = replace(SET, samples=(SAMPLES[1], later))
    found = import_annotations(conversation, [edited("ann", "Why on earth?", "s2")], None, {"form": NoLongQuestions()})
    assert found.testset.samples == (later,)
    assert found.n_edits == 0
    assert [line["id"] for line in found.rejected] == ["s2"]


def test_edited_gold_equals_the_marked_spans() -> None:
    gold = (*SAMPLES[0].gold, Evidence("bridge", 33, 39))
    made = import_annotations(SET, [Annotation("s1", "ann", gold=gold)], None, {}).testset
    assert made.samples[0].gold == gold
    assert made.edits[0].after[1] == {"document": "bridge", "start": 33, "end": 39}
