import pytest

from components.tokenizers.english_stems import EnglishStems
from components.tokenizers.snowball_stems import SnowballStems
from tests.contracts.tokenizer_contract import TEXTS, WordTokenizerContract


class TestGerman(WordTokenizerContract):
    component = SnowballStems("german")


class TestFrench(WordTokenizerContract):
    component = SnowballStems("french")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("german", ("Brücken", "brücke")),
        ("french", ("l'ouverture", "ouvertures")),
        ("spanish", ("puentes", "PUENTE")),
        ("italian", ("ponti", "ponte")),
    ],
)
def test_inflected_forms_share_a_stem(language: str, words: tuple[str, str]) -> None:
    one, other = map(SnowballStems(language).normalize, words)
    assert one == other != ""


@pytest.mark.parametrize(("language", "word"), [("german", "und"), ("french", "les"), ("spanish", "el")])
def test_stop_words_are_not_indexed(language: str, word: str) -> None:
    assert SnowballStems(language).normalize(word) == ""


def test_language_unknown_to_snowball_is_rejected() -> None:
    assert SnowballStems("german").check() == []
    (problem,) = SnowballStems("klingon").check()
    assert "got 'klingon', expected one of arabic," in problem


def test_english_snowball_words_equal_the_english_tokenizer() -> None:
    own, english = SnowballStems("english").words(TEXTS), EnglishStems().words(TEXTS)
    assert [words.words for words in own] == [words.words for words in english]
