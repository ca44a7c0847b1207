import numpy as np
import pytest
from numpy.typing import NDArray

from components.errors import ComponentError
from components.metrics.references import best_over_references, pair_units
from components.records import Scores, ScoreState, TextsWithUnits, Units
from components.text.units import number_units
from tests.contracts.metric_contract import qa_sample


def _letters(texts: list[str]) -> TextsWithUnits:
    return TextsWithUnits(texts, number_units([list(text.replace(".", "")) for text in texts]))


def _n_shared(answers: Units, references: Units) -> NDArray[np.float64]:
    rows = range(len(answers))
    return np.array([float(len(np.intersect1d(answers.row(row), references.row(row)))) for row in rows])


def _score(answer: str, *references: str) -> Scores:
    return best_over_references([qa_sample(*references)], _letters([answer]), _letters(list(references)), _n_shared)


def test_best_of_several_references_gives_the_score() -> None:
    assert _score("abc", "a", "abx", "c").values.tolist() == [2.0]


def test_references_without_a_unit_are_left_out() -> None:
    assert _score("abc", "...", "a").values.tolist() == [1.0]


@pytest.mark.parametrize("references", [(), ("",), ("...", "")])
def test_sample_without_a_reference_is_not_applicable(references: tuple[str, ...]) -> None:
    assert _score("abc", *references).states == (ScoreState.NOT_APPLICABLE,)


def test_references_are_paired_with_their_samples() -> None:
    samples = [qa_sample("a", "b"), qa_sample(), qa_sample("c")]
    scores = best_over_references(samples, _letters(["b", "c", "c"]), _letters(["a", "b", "c"]), _n_shared)
    assert scores.states == (ScoreState.VALUE, ScoreState.NOT_APPLICABLE, ScoreState.VALUE)
    assert scores.values[[0, 2]].tolist() == [1.0, 1.0]


def test_pairing_units_rejects_a_missing_answer() -> None:
    with pytest.raises(ComponentError, match="got 1 answers and 2 references for 2 samples with 2 references"):
        pair_units([qa_sample("a"), qa_sample("b")], _letters(["a"]), _letters(["a", "b"]))


def test_pairing_units_rejects_texts_without_units() -> None:
    with pytest.raises(ComponentError, match="texts without units"):
        pair_units([qa_sample("a")], TextsWithUnits(["a"]), TextsWithUnits(["a"]))
