from components.testset.tokens import is_character, n_characters, tokens


def test_similarity_tokens_are_characters_words_and_numbers() -> None:
    assert tokens("ＡＢＣ公司，3.5 per cent!") == ["abc", "公", "司", "3.5", "per", "cent"]
    assert tokens(" 。\u202e😀") == []


def test_word_counts_as_two_characters() -> None:
    assert n_characters(["abc", "公", "司", "3.5"]) == 6
    assert [is_character(token) for token in ("公", "か", "a", "")] == [True, True, False, False]
