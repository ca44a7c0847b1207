"""Samples that are drawn together."""

import pytest

from components.clusters import Groups, clusters_of, connected, groups_of, largest_group
from components.datasets.demo import Demo
from components.datasets.part import Part
from components.records import Evidence, Kind, Sample, Turn


def sample(question: str, *documents: str, after: tuple[str, ...] = ()) -> Sample:
    """A sample with these gold documents, after these turns of a conversation."""
    gold = tuple(Evidence(name) for name in documents)
    history = tuple(Turn(earlier, f"answer to {earlier}") for earlier in after)
    return Sample(question, "read", Kind.QA, question, ("!",), gold, history=history)


def groups(*samples: Sample) -> list[int]:
    return clusters_of(samples).tolist()


def test_samples_of_one_document_belong_together() -> None:
    assert groups(sample("1", "a"), sample("2", "b"), sample("3", "a")) == [0, 1, 0]


def test_every_gold_document_counts_not_the_first_alone() -> None:
    assert groups(sample("1", "a", "b"), sample("2", "c", "b"), sample("3", "d")) == [0, 0, 1]


def test_samples_belong_together_by_way_of_others() -> None:
    assert groups(sample("1", "a"), sample("2", "b"), sample("3", "c"), sample("4", "b", "a")) == [0, 0, 1, 0]


def test_a_sample_without_gold_is_on_its_own() -> None:
    assert groups(sample("1"), sample("2"), sample("3", "a")) == [0, 1, 2]


def test_the_turns_of_a_conversation_belong_together_with_gold_or_without() -> None:
    first, second = sample("When?", "a"), sample("And who?", after=("When?",))
    third = sample("And why?", "b", after=("When?", "And who?"))
    assert groups(first, second, third, sample("4", "b"), sample("5")) == [0, 0, 0, 0, 1]


def test_a_turn_is_recognised_where_earlier_ones_are_not_samples() -> None:
    later = [sample("And who?", after=("When?",)), sample("And why?", after=("When?", "And who?"))]
    assert groups(*later) == [0, 0]


def test_equal_questions_that_begin_no_conversation_are_not_tied() -> None:
    assert groups(sample("Summarise this."), sample("Summarise this.")) == [0, 1]


def test_a_document_and_a_question_of_one_name_are_not_the_same() -> None:
    assert groups(sample("1", "When?"), sample("And?", after=("When?",))) == [0, 1]


def test_no_samples_have_no_groups() -> None:
    assert clusters_of([]).tolist() == []
    assert connected([[], ["a"], [], ["a"]]).tolist() == [0, 1, 2, 1]


CHAIN = (
    sample("1", "a", "b"),
    sample("2", "b", "c"),
    sample("3", "c"),
    sample("4", "a"),
    sample("5"),
    sample("6", "b"),
)
"""One group by documents; a and b tie most of its samples."""


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Groups.DOCUMENT, [0, 0, 0, 0, 1, 0]),
        (Groups.SOURCE, [0, 1, 2, 0, 3, 1]),
        (Groups.NONE, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_groups_follow_the_choice(chosen: Groups, expected: list[int]) -> None:
    assert clusters_of(CHAIN, chosen).tolist() == expected


def test_by_source_a_conversation_belongs_to_the_document_of_its_first_turn() -> None:
    turns = (sample("When?", "a"), sample("And who?", "b", after=("When?",)), sample("And why?", after=("When?",)))
    assert clusters_of([*turns, sample("4", "a"), sample("5", "b")], Groups.SOURCE).tolist() == [0, 0, 0, 0, 1]


def test_by_source_a_conversation_without_gold_at_its_beginning_is_a_group() -> None:
    turns = (sample("When?"), sample("And who?", "b", after=("When?",)))
    later = (sample("Then who?", "b", after=("Then?",)), sample("Then why?", after=("Then?",)))
    assert clusters_of([*turns, *later, sample("5", "b")], Groups.SOURCE).tolist() == [0, 0, 1, 1, 2]


def test_without_groups_turns_of_a_conversation_are_apart() -> None:
    turns = (sample("When?", "a"), sample("And who?", "a", after=("When?",)))
    assert clusters_of(turns, Groups.NONE).tolist() == [0, 1]


def test_the_largest_group_names_what_its_samples_share() -> None:
    by_document = largest_group(CHAIN, clusters_of(CHAIN), Groups.DOCUMENT)
    assert by_document == (5, {"b": 3, "a": 2, "c": 2})
    assert list(by_document.shared_documents) == ["b", "a", "c"]
    assert largest_group(CHAIN, clusters_of(CHAIN, Groups.SOURCE), Groups.SOURCE) == (2, {"a": 2})
    assert largest_group([], clusters_of([]), Groups.DOCUMENT) == (0, {})


def test_a_data_set_says_its_groups() -> None:
    assert groups_of(Demo()) is Groups.DOCUMENT
    assert groups_of(Part(Demo(groups=Groups.NONE))) is Groups.NONE
    assert groups_of(object()) is Groups.DOCUMENT
