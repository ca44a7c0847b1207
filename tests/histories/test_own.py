"""The model's own answers as history: finding the samples that are earlier turns of a sample."""

from dataclasses import replace

import pytest

from components.errors import ComponentError
from components.histories.own import OwnHistory
from tests.contracts.history_contract import ASKED, HistoryContract, talk


class TestOwnHistory(HistoryContract):
    component = OwnHistory()


def test_conversations_with_equal_beginnings_share_earlier_turns() -> None:
    samples = [*talk("Who?", "When?"), *talk("Who?", "Where?", "When?", name="other")]
    assert OwnHistory().earlier_turns(samples) == [(), (0,), (), (0,), (0, 3)]


def test_subset_and_corpus_separate_equal_conversations() -> None:
    samples = talk("Who?", "When?")
    for other in ({"subset": "other"}, {"corpus_prefix": "other/"}):
        both = [*samples, *(replace(sample, **other) for sample in samples)]
        assert OwnHistory().earlier_turns(both) == [(), (0,), (), (2,)]


def test_earlier_turn_that_is_not_a_sample_is_an_error() -> None:
    first, second, third = talk(*ASKED)
    assert OwnHistory().check_samples([first, second, third]) == []
    (problem,) = OwnHistory().check_samples([first, third])
    assert "1 of 1 samples with earlier turns have one that is not itself a sample" in problem
    assert "e.g. 'talk2': 'When?'" in problem
    with pytest.raises(ComponentError, match="history=gold"):
        OwnHistory().earlier_turns([second])
