"""The plan's line about samples that form one large group."""

import numpy as np
import pytest

from components.clusters import Groups
from components.records import Evidence, Kind, Sample, Turn
from runner.output.tied_samples import tied_line


def sample(number: int, *documents: str, after: str = "") -> Sample:
    history = (Turn(after, "yes"),) if after else ()
    gold = tuple(Evidence(name) for name in documents)
    return Sample(str(number), "read", Kind.QA, f"{number}?", ("!",), gold, history=history)


def line(*samples: Sample, groups: Groups = Groups.DOCUMENT) -> str:
    return tied_line(samples, np.arange(len(samples)), groups)


def test_documents_that_tie_all_samples_are_named() -> None:
    assert line(sample(1, "a", "b"), sample(2, "b"), sample(3, "a"), sample(4, "b", "c"), sample(5, "c", "e")) == (
        "All 5 samples form one group: 3 gold documents tie them together, most of all b (3 samples), a (2 samples), "
        "c (2 samples). dataset.groups=source makes 3 groups, dataset.groups=none makes 5 groups; docs/metrics.md says "
        "what each assumes."
    )


def test_a_single_document_is_named_and_the_other_groups_are_counted() -> None:
    said = line(sample(1, "a"), sample(2, "a"), sample(3, "a"), sample(4, "b"), sample(5))
    assert said.startswith(
        "3 of 5 samples form one group: they share the gold document a (3 samples). The others form 2 more. "
    )


def test_turns_of_a_conversation_are_named() -> None:
    assert "All 3 samples form one group: turns of one conversation." in line(
        sample(1), sample(2, after="1?"), sample(3, after="1?")
    )


@pytest.mark.parametrize("groups", [Groups.SOURCE, Groups.NONE])
def test_finer_groups_have_a_line_of_their_own(groups: Groups) -> None:
    samples = [sample(1, "a", "b"), sample(2, "a", "c"), sample(3, "b")]
    said = line(*samples, groups=groups)
    assert said == (
        ""
        if groups is Groups.NONE
        else "2 of 3 samples form one group: they share the gold document a (2 samples). The others form 1 more. "
        "dataset.groups=none makes 3 groups; docs/metrics.md says what each assumes."
    )


def test_small_groups_have_no_line() -> None:
    assert line(sample(1, "a"), sample(2, "a"), sample(3, "b"), sample(4)) == ""
    assert line(sample(1)) == ""
    assert line() == ""


def test_only_samples_that_count_are_counted() -> None:
    samples = [sample(1, "a"), sample(2, "b"), sample(3, "a", "b"), sample(4), sample(5), sample(6)]
    assert tied_line(samples, np.array([0, 1]), Groups.DOCUMENT).startswith("All 2 samples form one group")
