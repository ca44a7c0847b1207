import numpy as np
import pytest

from components.metrics.bleu_crud import BleuCrud
from components.records import ScoreState
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts, value_of


class TestBleuCrud(AnswerMetricContract):
    metric = BleuCrud()


def _score(name: str, answer: str, *references: str) -> float:
    return value_of(score_texts(BleuCrud(), [qa_sample(*references)], [answer])[name])


def test_bleu_crud_equals_hand_computed_precisions_and_their_mean() -> None:
    # Words of the answer: a _ b _ c _ d; of the reference: a _ b _ c _ e. 6 of 7, 5 of 6, 4 of 5, 3 of 4 n-grams.
    precisions = [6 / 7, 5 / 6, 4 / 5, 3 / 4]
    found = [_score(f"bleu_{n}_crud_compat", "a b c d", "a b c e") for n in (1, 2, 3, 4)]
    assert found == pytest.approx(precisions)
    assert _score("bleu_crud_compat", "a b c d", "a b c e") == pytest.approx(np.prod(precisions) ** 0.25)


def test_bleu_crud_has_no_brevity_penalty() -> None:
    assert _score("bleu_crud_compat", "a b c", "a b c d e f g h i j k l m n") == pytest.approx(1.0)


def test_bleu_without_smoothing_is_zero_if_an_order_is_missing() -> None:
    assert _score("bleu_2_crud_compat", "a b", "a b") == 1.0
    assert _score("bleu_4_crud_compat", "a b", "a b") == 0.0
    assert _score("bleu_crud_compat", "a b", "a b") == 0.0


def test_bleu_crud_clips_repeated_words_to_the_reference() -> None:
    assert _score("bleu_1_crud_compat", "的的的的", "的") == pytest.approx(1 / 4)


def test_bleu_crud_counts_empty_answers_only_in_the_overall_mean() -> None:
    scores = score_texts(BleuCrud(), [qa_sample("北京"), qa_sample("北京")], ["", "北京"])
    assert scores["bleu_1_crud_compat"].values.tolist() == [0.0, 1.0]
    assert scores["bleu_crud_compat"].states == (ScoreState.VALUE, ScoreState.VALUE)
    assert scores["bleu_answered_crud_compat"].states == (ScoreState.NOT_APPLICABLE, ScoreState.VALUE)
