import pytest

from components.metrics.f1 import F1
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts, value_of


class TestF1(AnswerMetricContract):
    metric = F1()


class TestF1OmniEvalCompat(AnswerMetricContract):
    metric = F1(omnieval_compat=True)


def _f1(answer: str, *references: str) -> float:
    return value_of(score_texts(F1(), [qa_sample(*references)], [answer])["f1"])


def test_f1_counts_repeated_words_as_often_as_both_texts_have_them() -> None:
    # a a b / a b b: shared a, b; precision 2/3, recall 2/3.
    assert _f1("a a b", "a b b") == pytest.approx(2 / 3)


def test_f1_weighs_precision_and_recall_equally() -> None:
    assert _f1("北京", "北京是首都") == pytest.approx(0.5)


def test_f1_ignores_order_case_width_and_punctuation() -> None:
    assert _f1("首都，是（ＢＥＩＪＩＮＧ）！", "beijing是首都") == 1.0


def test_f1_does_not_count_white_space_as_a_word() -> None:
    assert _f1("hello big world", "完全 不同 的") == 0.0


def test_f1_takes_the_best_reference() -> None:
    assert _f1("北京", "上海", "北京") == 1.0


@pytest.mark.parametrize("answer", ["", "。"])
def test_f1_of_an_empty_answer_is_zero(answer: str) -> None:
    assert _f1(answer, "北京") == 0.0


def test_published_f1_counts_spaces_between_words() -> None:
    scores = score_texts(F1(omnieval_compat=True), [qa_sample("完全不同")], ["hello world"])
    # "完全 不同" and "hello world", as characters with spaces: jieba keeps the blank as a word between two blanks.
    assert value_of(scores["f1_omnieval_compat"]) == pytest.approx(2 * 1 / (5 + 13))
