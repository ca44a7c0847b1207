from components.tokenizers.kiwi_words import KiwiWords
from tests.contracts.tokenizer_contract import TokenizerContract, WordTokenizerContract
from tests.extras import skip_without

skip_without("kiwipiepy", extra="languages")


class TestKiwiWords(TokenizerContract):
    component = KiwiWords()


class TestKiwiWordsInTheIndex(WordTokenizerContract):
    component = KiwiWords()


def test_korean_words_equal_hand_split_words() -> None:
    (words,) = KiwiWords().words(["다리는 1932년에 개통되었습니다."])
    assert list(words.words)[:6] == "다리 는 1932 년 에 개통".split()
