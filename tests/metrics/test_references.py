from collections.abc import Sequence

import pytest

from components.errors import ComponentError
from components.metrics.references import best_over_references
from components.records import Scores, ScoreState
from tests.contracts.metric_contract import qa_sample


def _letters(texts: Sequence[str]) -> list[frozenset[str]]:
    return [frozenset(text.replace(".", "")) for text in texts]


def _n_shared(answer: frozenset[str], reference: frozenset[str]) -> float:
    return float(len(answer & reference))


def _score(answer: str, *references: str) -> Scores:
    return best_over_references([qa_sample(*references)], [answer], _letters, _n_shared)


def test_the_best_reference_counts() -> None:
    assert _score("abc", "a", "abx", "c").values.tolist() == [2.0]


def test_references_that_analyse_to_nothing_are_left_out() -> None:
    assert _score("abc", "...", "a").values.tolist() == [1.0]


@pytest.mark.parametrize("references", [(), ("",), ("...", "")])
def test_a_sample_without_a_reference_is_not_applicable(references: tuple[str, ...]) -> None:
    assert _score("abc", *references).states == (ScoreState.NOT_APPLICABLE,)


def test_each_distinct_text_is_analysed_once() -> None:
    analysed: list[str] = []

    def analyse(texts: Sequence[str]) -> list[frozenset[str]]:
        analysed.extend(texts)
        return _letters(texts)

    best_over_references([qa_sample("a", "b"), qa_sample("b")], ["a", "a"], analyse, _n_shared)
    assert sorted(analysed) == ["a", "b"]


def test_a_missing_answer_is_an_error() -> None:
    with pytest.raises(ComponentError, match="got 1 answers for 2 samples"):
        best_over_references([qa_sample("a"), qa_sample("b")], ["a"], _letters, _n_shared)
