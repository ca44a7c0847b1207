import unicodedata

import pytest

from components.text.normalize import _VISIBLE, answer_form, index_term, is_word_character


@pytest.mark.parametrize(
    ("token", "term"),
    [("ＧＤＰ", "gdp"), (" 北京 ", "北京"), ("，", ""), ("\u3000", ""), ("3.5%", "3.5%"), ("①", "1"), ("", "")],
)
def test_index_terms_are_normalized(token: str, term: str) -> None:
    assert index_term(token) == term


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("  Ａ，b。C ", "abc"),
        ("１２.５％", "12.5"),
        ("第1. -3.2%，+4,-5", "第1 -3.2 4 -5"),
        ("1,234,567.8", "1234567.8"),
        ("2019-2020", "2019 2020"),
        ("1/2 at 10:30", "1 2 at 10 30"),
        ("－5 and \u22125", "-5 and -5"),
        ("(a)-5 b-5", "a5 b5"),
        ("答\u200b案", "答案"),
        ("New\n\t York!", "new york"),
        ("《人民日报》", "人民日报"),
        ("！？", ""),
        ("a - b", "a b"),
    ],
)
def test_answers_are_normalized(text: str, form: str) -> None:
    assert answer_form(text) == form


def test_word_characters_are_recognized() -> None:
    assert [character for character in "a字9½ _-。$\n\u0301" if is_word_character(character)] == list("a字9½\u0301")


def test_answer_form_keeps_characters_by_their_category() -> None:
    for code in (*range(0x3100), *range(0x4E00, 0x4E10), *range(0xFE00, 0x10000), 0x1F600, 0xE0001):
        character = chr(code)
        category = unicodedata.category(character)
        unseen = category[0] in "PS" or category == "Cf"
        shown = "" if unseen else " " if character.isspace() else character
        assert f"a{character}b".translate(_VISIBLE) == f"a{shown}b"
