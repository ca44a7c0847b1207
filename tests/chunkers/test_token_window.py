import pytest

from components.chunkers.budget import Unit
from components.chunkers.token_window import TokenWindow
from components.tokenizers.rjieba_words import RjiebaWords
from tests.contracts.chunker_contract import ExactOverlapContract, chunk_texts


class TestTokenWindow(ExactOverlapContract):
    component = TokenWindow()


class TestInWords(ExactOverlapContract):
    component = TokenWindow(tokenizer=RjiebaWords())


@pytest.mark.parametrize(
    ("text", "size", "overlap", "expected"),
    [
        ("abcdefghij", 4, 0.0, ["abcd", "efgh", "ij"]),
        ("abcdefgh", 4, 0.0, ["abcd", "efgh"]),
        ("abcdefghij", 4, 0.5, ["abcd", "cdef", "efgh", "ghij"]),
        ("abcdefghi", 4, 0.5, ["abcd", "cdef", "efgh", "ghi"]),
        ("abcdefghi", 5, 0.7, ["abcde", "cdefg", "efghi"]),
        ("abc", 4, 0.5, ["abc"]),
        ("abcd", 4, 0.75, ["abcd"]),
        ("ab      cd", 2, 0.0, ["ab", "cd"]),
    ],
)
def test_token_window_equals_hand_computed_chunks(text: str, size: int, overlap: float, expected: list[str]) -> None:
    assert chunk_texts(TokenWindow(size, overlap, Unit.CHAR), text) == expected


def test_token_window_counts_tokens() -> None:
    text = "one two three four five six"
    assert chunk_texts(TokenWindow(4), text) == ["one two three four", " five six"]


def test_token_window_does_not_end_inside_a_character() -> None:
    # 𠮷 takes four tokens, 😀 two: x | 𠮷 𠮷 𠮷 | 𠮷 😀 😀.
    assert chunk_texts(TokenWindow(4), "x𠮷😀") == ["x", "𠮷😀"]
