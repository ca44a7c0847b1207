import pytest

from components.tokenizers.character_bigrams import CharacterBigrams
from tests.contracts.tokenizer_contract import WordTokenizerContract


class TestCharacterBigrams(WordTokenizerContract):
    component = CharacterBigrams()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("杭州西湖", ["杭州", "州西", "西湖"]),
        ("湖", ["湖"]),
        ("杭州，西湖", ["杭州", "西湖"]),
        ("在2023年GDP增长", ["在", "2023", "年", "GDP", "增长"]),
        ("new lakes", ["new", "lakes"]),
        ("東京タワーの高さ", ["東京", "京タ", "タワ", "ワー", "ーの", "の高", "高さ"]),
        ("ﾀﾜｰ、人々", ["ﾀﾜ", "ﾜｰ", "人々"]),
        ("ﾊﾟｿｺﾝ", ["ﾊﾟｿ", "ｿｺ", "ｺﾝ"]),
        ("吉\U000e0100野家", ["吉\U000e0100野", "野家"]),
        ("서울에서 GDP가", ["서울", "울에", "에서", "GDP", "가"]),
        ("𠮷野家", ["𠮷野", "野家"]),
    ],
)
def test_bigrams_equal_hand_written_bigrams(text: str, expected: list[str]) -> None:
    (words,) = CharacterBigrams().words([text])
    assert words.words == expected


def test_places_of_bigrams_overlap() -> None:
    (words,) = CharacterBigrams().words(["A杭州西"])
    assert (words.start.tolist(), words.end.tolist()) == ([0, 1, 2], [1, 3, 4])
