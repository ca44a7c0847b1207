import pytest

from components.tokenizers.english_stems import EnglishStems
from tests.contracts.tokenizer_contract import WordTokenizerContract


class TestEnglishStems(WordTokenizerContract):
    component = EnglishStems()


@pytest.mark.parametrize(
    ("word", "term"),
    [("Running", "run"), ("cities", "citi"), ("The", ""), ("and", ""), ("1,250.5", "1,250.5"), ("ＢＡＮＫＳ", "bank")],
)
def test_terms_are_english_stems(word: str, term: str) -> None:
    assert EnglishStems().normalize(word) == term


def test_english_words_equal_hand_split_words() -> None:
    (words,) = EnglishStems().words(["The U.S. bank's 1,250.5 well-known branches, (2) snake_case."])
    assert words.words == ["The", "U.S", "bank's", "1,250.5", "well", "known", "branches", "2", "snake", "case"]
