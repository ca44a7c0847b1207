import pytest

from components.metrics.rouge_l import RougeL
from components.tokenizers.rjieba_words import RjiebaWords
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts, value_of


class TestRougeL(AnswerMetricContract):
    metric = RougeL()


class TestRougeLCrudCompat(AnswerMetricContract):
    metric = RougeL(crud_compat=True)


def _rouge_l(answer: str, *references: str) -> float:
    return value_of(score_texts(RougeL(), [qa_sample(*references)], [answer])["rouge_l"])


def test_rouge_l_equals_f1_of_the_longest_common_subsequence() -> None:
    # Words the cat sat on the mat / the cat lay on a mat: "the cat on mat" is common; precision 4/6, recall 4/6.
    assert _rouge_l("the cat sat on the mat", "the cat lay on a mat") == pytest.approx(4 / 6)


def test_rouge_l_weighs_precision_and_recall_equally() -> None:
    # "北京" of 北京 | 是 | 首都: precision 1, recall 1/3.
    assert _rouge_l("北京", "北京是首都") == pytest.approx(0.5)


def test_rouge_l_depends_on_the_order_of_words() -> None:
    assert _rouge_l("b a", "a b") == pytest.approx(0.5)


def test_rouge_l_ignores_white_space() -> None:
    assert _rouge_l("北京\n\n是 首都", "北京是首都") == 1.0


def test_rouge_l_takes_the_best_reference() -> None:
    assert _rouge_l("北京", "上海", "北京", "北京是首都") == 1.0


@pytest.mark.parametrize("answer", ["", " \n"])
def test_rouge_l_of_an_empty_answer_is_zero(answer: str) -> None:
    assert _rouge_l(answer, "北京") == 0.0


def test_rouge_l_splits_words_by_the_tokenizer() -> None:
    # 杜苏芮 is in no dictionary: one word with HMM, three without.
    without_hmm = score_texts(RougeL(RjiebaWords(hmm=False)), [qa_sample("杜苏芮")], ["杜苏"])
    assert _rouge_l("杜苏", "杜苏芮") == 0.0
    assert value_of(without_hmm["rouge_l"]) == pytest.approx(4 / 5)


def test_published_rouge_l_counts_white_space() -> None:
    scores = score_texts(RougeL(crud_compat=True), [qa_sample("北京 是 首都")], ["北京是首都"])
    # Three common words, of 3 and of 5.
    assert value_of(scores["rouge_l_crud_compat"]) == pytest.approx(6 / 8)
