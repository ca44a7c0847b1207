import pytest

from components.datasets.demo import Demo
from components.tokenizers.jieba_words import JiebaWords
from components.tokenizers.rjieba_words import RjiebaWords
from tests.contracts.tokenizer_contract import TEXTS, TokenizerContract, WordTokenizerContract


class TestRjiebaWords(TokenizerContract, WordTokenizerContract):
    component = RjiebaWords()


class TestWithHmm(TokenizerContract, WordTokenizerContract):
    component = RjiebaWords(hmm=True)


@pytest.mark.parametrize("text", [*TEXTS, "我来到北京清华大学", "南京市长江大桥", "2023年GDP增长5.2%，达126万亿元"])
def test_rjieba_words_equal_jieba_without_hmm(text: str) -> None:
    assert RjiebaWords().tokenize([text]) == JiebaWords(hmm=False).tokenize([text])


def test_rjieba_terms_of_the_bundled_corpus_equal_jieba() -> None:
    texts = Demo().load().documents.texts
    assert RjiebaWords().tokenize(texts) == JiebaWords(hmm=False).tokenize(texts)
