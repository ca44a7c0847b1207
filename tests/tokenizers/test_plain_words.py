from components.tokenizers.plain_words import PlainWords
from tests.contracts.tokenizer_contract import TokenizerContract


class TestPlainWords(TokenizerContract):
    component = PlainWords()


def test_plain_words_equal_hand_split_words() -> None:
    (words,) = PlainWords().tokenize(["It's a well-known 1,250.5: l'été (e.g.) snake_case."])
    assert [word for word in words if word.strip()] == [
        "It's", "a", "well-known", "1,250.5", ":", "l'été", "(", "e.g", ".", ")", "snake", "_", "case", ".",
    ]  # fmt: skip
