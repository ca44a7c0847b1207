import random
import unicodedata
from collections.abc import Sequence

import pytest

from components.protocols import WordTokenizer
from components.text.corpus_tables import build_term_table
from components.tokenizers.character_bigrams import CharacterBigrams
from components.tokenizers.english_stems import EnglishStems
from components.tokenizers.janome_words import JanomeWords
from components.tokenizers.jieba_words import JiebaWords
from components.tokenizers.kiwi_words import KiwiWords
from components.tokenizers.plain_words import PlainWords
from components.tokenizers.rjieba_words import RjiebaWords
from components.tokenizers.snowball_stems import SnowballStems

BREAKS = "\u00ad\u2060\ufeff\u200b"
TOKENIZERS = [
    EnglishStems(),
    SnowballStems("german"),
    SnowballStems("french"),
    SnowballStems("hindi"),
    CharacterBigrams(),
    RjiebaWords(),
    JiebaWords(),
]
WORDS = (
    "résumé",
    "Ångström",
    "Überweisung",
    "l'été",
    "1,250.5",
    "don't",
    "Việt",
    "हिन्दी",
    "تَحِيَّة",
    "한국어",
    "ガラス",
    "股票市场",
    "利率。",
    "(a)",
    "naïve",
    "ﬁne",
    "😀",
    "Å",
    "क़लम",
    "ก็",
)


def terms(tokenizer: WordTokenizer, text: str) -> list[str]:
    (words,) = tokenizer.words([text])
    return [term for term in map(tokenizer.normalize, words.words) if term]


def disguised(text: str, chance: random.Random) -> str:
    """Return a text that looks the same: decomposed, with invisible characters between some of its letters."""
    clusters: list[str] = []
    for character in unicodedata.normalize("NFD", text):
        follows = clusters and (unicodedata.combining(character) or unicodedata.category(character)[0] == "M")
        if follows or "\u1160" <= character <= "\u11ff" or character in ".,'":
            clusters[-1] += character
        else:
            clusters.append(character)
    return "".join(cluster + (chance.choice(BREAKS[:3]) if chance.random() < 0.2 else "") for cluster in clusters)


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=str)
def test_texts_that_look_the_same_have_the_same_terms(tokenizer: WordTokenizer) -> None:
    chance = random.Random(0)
    n_disguised = 0
    for _ in range(300):
        text = unicodedata.normalize("NFC", " ".join(chance.choices(WORDS, k=6)))
        other = disguised(text, chance)
        n_disguised += other != text
        assert terms(tokenizer, other) == terms(tokenizer, text), ascii(other)
    assert n_disguised > 250


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=str)
def test_places_of_words_point_at_the_text_that_was_given(tokenizer: WordTokenizer) -> None:
    chance = random.Random(1)
    for _ in range(200):
        text = disguised(" ".join(chance.choices(WORDS, k=6)), chance)
        (words,) = tokenizer.words([text])
        assert all(map(int.__le__, words.start.tolist(), words.start.tolist()[1:]))
        assert words.words == [text[a:b] for a, b in zip(words.start, words.end, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("تَحِيَّة", ["تَحِيَّة"]),
        ("re\u0301sume\u0301s", ["résumé"]),
        ("over\u00adnight dep\u200bosits", ["overnight", "deposit"]),
        ("\u00ad \ufeff", []),
        ("end.\u200bNext \U0001f170\ufe0f 1\ufe0f\u20e32", ["end", "next", "1", "2"]),
        ("abc\u200b中国", ["abc", "中国"]),
    ],
)
def test_words_contain_their_marks(text: str, expected: Sequence[str]) -> None:
    assert terms(EnglishStems(), text) == expected


def test_decomposed_japanese_and_korean_tokenize_like_composed_text() -> None:
    pytest.importorskip("janome")
    pytest.importorskip("kiwipiepy")
    for tokenizer, text in ((JanomeWords(), "ガラスの工場で働く"), (KiwiWords(), "한국은행은 금리를 올렸다")):
        assert unicodedata.normalize("NFD", text) != text
        assert terms(tokenizer, unicodedata.normalize("NFD", text)) == terms(tokenizer, text)


def test_space_without_a_width_still_separates_words_of_thai() -> None:
    (words,) = CharacterBigrams().words(["ธนาคาร\u200bกลาง"])
    assert words.words == ["ธนาคาร", "กลาง"]


def test_metrics_find_whole_words_of_scripts_with_vowel_signs() -> None:
    (pieces,) = PlainWords().tokenize(["हिन्दी भाषा"])
    assert pieces == ["हिन्दी", " ", "भाषा"]


def test_table_of_terms_joins_both_spellings() -> None:
    table = build_term_table(["café", "cafe\u0301", "ca\u00adfé"], EnglishStems())
    assert list(table.vocabulary) == ["café"]
    assert table.end.tolist() == [4, 5, 5]
