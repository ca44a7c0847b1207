"""Samples that are drawn together."""

import pytest

from components.clusters import Groups, choose_groups, component_ids, largest_group, number_clusters
from components.datasets.demo import Demo
from components.datasets.part import Part
from components.records import Evidence, Kind, Sample, Turn


def sample(question: str, *documents: str, after: tuple[str, ...] = ()) -> Sample:
    """A sample with these gold documents, after these turns of a conversation."""
    gold = tuple(Evidence(name) for name in documents)
    history = tuple(Turn(earlier, f"answer to {earlier}") for earlier in after)
    return Sample(question, "read", Kind.QA, question, ("!",), gold, history=history)


def groups(*samples: Sample) -> list[int]:
    return number_clusters(samples).tolist()


def test_samples_of_one_document_share_a_group() -> None:
    assert groups(sample("1", "a"), sample("2", "b"), sample("3", "a")) == [0, 1, 0]


def test_samples_are_grouped_by_every_gold_document() -> None:
    assert groups(sample("1", "a", "b"), sample("2", "c", "b"), sample("3", "d")) == [0, 0, 1]


def test_samples_are_grouped_transitively() -> None:
    assert groups(sample("1", "a"), sample("2", "b"), sample("3", "c"), sample("4", "b", "a")) == [0, 0, 1, 0]


def test_sample_without_gold_is_its_own_group() -> None:
    assert groups(sample("1"), sample("2"), sample("3", "a")) == [0, 1, 2]


def test_turns_of_a_conversation_share_a_group_with_or_without_gold() -> None:
    first, second = sample("When?", "a"), sample("And who?", after=("When?",))
    third = sample("And why?", "b", after=("When?", "And who?"))
    assert groups(first, second, third, sample("4", "b"), sample("5")) == [0, 0, 0, 0, 1]


def test_turns_share_a_group_even_if_earlier_turns_are_not_samples() -> None:
    later = [sample("And who?", after=("When?",)), sample("And why?", after=("When?", "And who?"))]
    assert groups(*later) == [0, 0]


def test_equal_questions_that_begin_no_conversation_share_no_group() -> None:
    assert groups(sample("Summarize this."), sample("Summarize this.")) == [0, 1]


def test_document_and_question_of_one_name_share_no_group() -> None:
    assert groups(sample("1", "When?"), sample("And?", after=("When?",))) == [0, 1]


def test_samples_without_keys_share_no_group() -> None:
    assert number_clusters([]).tolist() == []
    assert component_ids([[], ["a"], [], ["a"]]).tolist() == [0, 1, 2, 1]


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
def test_clusters_follow_the_chosen_grouping(chosen: Groups, expected: list[int]) -> None:
    assert number_clusters(CHAIN, chosen).tolist() == expected


def test_source_group_of_a_conversation_is_the_group_of_its_first_turn() -> None:
    turns = (sample("When?", "a"), sample("And who?", "b", after=("When?",)), sample("And why?", after=("When?",)))
    assert number_clusters([*turns, sample("4", "a"), sample("5", "b")], Groups.SOURCE).tolist() == [0, 0, 0, 0, 1]


def test_conversation_without_initial_gold_is_its_own_source_group() -> None:
    turns = (sample("When?"), sample("And who?", "b", after=("When?",)))
    later = (sample("Then who?", "b", after=("Then?",)), sample("Then why?", after=("Then?",)))
    assert number_clusters([*turns, *later, sample("5", "b")], Groups.SOURCE).tolist() == [0, 0, 1, 1, 2]


def test_turns_are_separate_clusters_without_groups() -> None:
    turns = (sample("When?", "a"), sample("And who?", "a", after=("When?",)))
    assert number_clusters(turns, Groups.NONE).tolist() == [0, 1]


def test_largest_group_lists_its_shared_documents() -> None:
    by_document = largest_group(CHAIN, number_clusters(CHAIN), Groups.DOCUMENT)
    assert by_document == (5, {"b": 3, "a": 2, "c": 2})
    assert list(by_document.shared_documents) == ["b", "a", "c"]
    assert largest_group(CHAIN, number_clusters(CHAIN, Groups.SOURCE), Groups.SOURCE) == (2, {"a": 2})
    assert largest_group([], number_clusters([]), Groups.DOCUMENT) == (0, {})


def test_grouping_is_read_from_the_data_set() -> None:
    assert choose_groups(Demo()) is Groups.DOCUMENT
    assert choose_groups(Part(Demo(groups=Groups.NONE))) is Groups.NONE
    assert choose_groups(object()) is Groups.DOCUMENT
