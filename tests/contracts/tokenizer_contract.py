"""The contract of every tokenizer, for lengths and for the words of an index."""

from collections import Counter

import numpy as np

from components.protocols import Tokenizer, WordTokenizer
from tests.contracts.component_contract import ComponentContract

TEXTS = (
    "",
    " ",
    "\n\n",
    "。",
    "杭州是浙江的省会，常住人口1,250.5万。",
    "The quick brown foxes weren't running; they were 3.5 km away.",
    "中英mixed文本，ＡＢＣ１２３ｘｙｚ",
    "表情😀👨‍👩‍👧‍👦和生僻字𠮷龘鱻",
    "  leading and trailing\t\n",
    "e\u0301te\u0301 naïve",
)


class TokenizerContract(ComponentContract):
    """Contract of tokenizers that lengths are counted with."""

    component: Tokenizer

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Tokenizer)

    def test_token_ends_never_decrease_and_end_at_the_text_length(self) -> None:
        for text, ends in zip(TEXTS, self.component.token_ends(TEXTS), strict=True):
            assert ends.dtype == np.int32
            assert (np.diff(ends) >= 0).all()
            assert ends[-1:].tolist() == ([len(text)] if text else [])
            assert (ends >= 0).all()

    def test_joined_tokens_equal_the_text(self) -> None:
        assert ["".join(tokens) for tokens in self.component.tokenize(TEXTS)] == list(TEXTS)

    def test_tokens_end_at_the_reported_positions(self) -> None:
        for tokens, ends in zip(self.component.tokenize(TEXTS), self.component.token_ends(TEXTS), strict=True):
            assert np.cumsum([len(token) for token in tokens]).tolist() == ends.tolist()

    def test_characters_need_at_most_the_announced_number_of_tokens(self) -> None:
        for ends in self.component.token_ends(sorted({character for text in TEXTS for character in text})):
            assert len(ends) <= self.component.max_tokens_per_character

    def test_empty_batch_of_texts_gives_an_empty_result(self) -> None:
        assert self.component.token_ends([]) == []
        assert self.component.tokenize([]) == []


class WordTokenizerContract(ComponentContract):
    """Contract of tokenizers that split indexed texts."""

    component: WordTokenizer

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, WordTokenizer)

    def test_word_positions_locate_the_words_in_the_text(self) -> None:
        for text, words in zip(TEXTS, self.component.words(TEXTS), strict=True):
            places = zip(words.start.tolist(), words.end.tolist(), strict=True)
            assert [text[start:end] for start, end in places] == list(words.words)

    def test_word_positions_never_decrease(self) -> None:
        for words in self.component.words(TEXTS):
            assert words.start.dtype == words.end.dtype == np.int32
            assert (np.diff(words.start) >= 0).all()
            assert (np.diff(words.end) >= 0).all()
            assert (words.start < words.end).all()

    def test_every_letter_and_digit_is_in_a_word(self) -> None:
        for text, words in zip(TEXTS, self.component.words(TEXTS), strict=True):
            lacking = Counter(filter(str.isalnum, text)) - Counter("".join(words.words))
            assert not lacking

    def test_empty_text_has_no_words(self) -> None:
        (words,) = self.component.words([""])
        assert (list(words.words), words.start.tolist(), words.end.tolist()) == ([], [], [])

    def test_empty_batch_of_texts_has_no_words(self) -> None:
        assert list(self.component.words([])) == []

    def test_white_space_and_punctuation_are_not_indexed(self) -> None:
        assert [self.component.normalize(token) for token in (" ", "\n", "。", "…", "-", "“", "")] == [""] * 7

    def test_word_normalisation_ignores_width_and_case(self) -> None:
        assert self.component.normalize("ＧＤＰ") == self.component.normalize("gdp") == "gdp"
