import time

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
        ("<reasoning>hm</reasoning>so", "hm", "so"),
        (" <reasoning>a</reasoning>\n<reasoning>b</reasoning> so", "a\nb", "so"),
        ("<thought>\nhm\n</thought>so", "hm", "so"),
        ("<thinking>hm", "hm", ""),
        ("<think>a</think><thinking>b</thinking>so", "a\nb", "so"),
        ("[THINK]hm[/THINK]so", "hm", "so"),
        ("[THINK]hm", "hm", ""),
        ("<|channel>thought\nhm<channel|>so", "hm", "so"),
        ("<|channel>thought\n<channel|>so", "", "so"),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>so<|return|>",
            "hm",
            "so",
        ),
        ("<|channel|>analysis<|message|>hm", "hm", ""),
        ("<|channel|>final <|constrain|>json<|message|>{}<|return|>", "", "{}"),
        ("Write <reasoning>here</reasoning>", "", "Write <reasoning>here</reasoning>"),
        ("<reasoning_effort>low</reasoning_effort>", "", "<reasoning_effort>low</reasoning_effort>"),
        ("", "", ""),
    ],
)
def test_thoughts_are_split_from_the_reply(text: str, thoughts: str, rest: str) -> None:
    assert split_thoughts(text) == (thoughts, rest)


@pytest.mark.parametrize(
    "part",
    ["<|channel|>analysis", "<|channel|>a <|constrain|>", "<think>", "</think>", "[THINK]x[/THINK]", "<|channel>"],
)
def test_many_unclosed_thoughts_are_split_quickly(part: str) -> None:
    started = time.perf_counter()
    split_thoughts(part * 200_000)
    assert time.perf_counter() - started < 5
