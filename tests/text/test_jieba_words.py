from components.text.jieba_words import JiebaWords
from tests.contracts.tokenizer_contract import TokenizerContract, WordTokenizerContract


class TestJiebaWords(TokenizerContract, WordTokenizerContract):
    component = JiebaWords()


class TestWithoutHmm(TokenizerContract, WordTokenizerContract):
    component = JiebaWords(hmm=False)


def test_hmm_finds_words_that_are_not_in_the_dictionary() -> None:
    text = "他来到了网易杭研大厦"  # the example of jieba's own documentation
    assert JiebaWords().tokenize([text]) == [["他", "来到", "了", "网易", "杭研", "大厦"]]
    assert JiebaWords(hmm=False).tokenize([text]) == [["他", "来到", "了", "网易", "杭", "研", "大厦"]]


def test_white_space_is_kept() -> None:
    assert JiebaWords().tokenize(["北京 上海"]) == [["北京", " ", "上海"]]


def test_changing_a_result_does_not_change_the_next() -> None:
    JiebaWords().tokenize(["北京欢迎你"])[0].clear()
    assert "".join(JiebaWords().tokenize(["北京欢迎你"])[0]) == "北京欢迎你"
