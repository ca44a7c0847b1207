import pytest

from components.text.thoughts import split_thoughts


@pytest.mark.parametrize(
    ("text", "thoughts", "rest"),
    [
        ("so", "", "so"),
        ("<think>\nhm\n</think>\n\nso", "hm", "so"),
        ("hm</think>so", "hm", "so"),
        ("<think>hm", "hm", ""),
        ("<think></think>so", "", "so"),
        ("<think>a</think>x<think>b</think>so", "axb", "so"),
        ("", "", ""),
    ],
)
def test_thoughts_are_split_from_the_reply(text: str, thoughts: str, rest: str) -> None:
    assert split_thoughts(text) == (thoughts, rest)
