from components.tokenizers.janome_words import JanomeWords
from tests.contracts.tokenizer_contract import TokenizerContract, WordTokenizerContract
from tests.extras import skip_without

skip_without("janome", extra="languages")


class TestJanomeWords(TokenizerContract):
    component = JanomeWords()


class TestJanomeWordsInTheIndex(WordTokenizerContract):
    component = JanomeWords()


def test_japanese_words_equal_hand_split_words() -> None:
    (words,) = JanomeWords().words(["橋は1932年に開通しました。"])
    assert list(words.words)[:6] == "橋 は 1932 年 に 開通".split()
