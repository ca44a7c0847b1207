"""Thoughts of reasoning models, which some servers leave in the text."""

import re
from collections.abc import Iterable

_OPENED, _CLOSED = "<think>", "</think>"
_BLOCK = re.compile(
    r"\s*(?:<(?P<tag>reasoning|thinking|thought)>(?P<tagged>.*?)(?:</(?P=tag)>|\Z)"
    r"|\[THINK\](?P<mistral>.*?)(?:\[/THINK\]|\Z)"
    r"|<\|channel>(?:thought\b)?(?P<gemma>.*?)(?:<channel\|>|\Z))",
    re.DOTALL,
)
"""Thoughts of Amazon Bedrock, of prompts for Claude, of Mistral and of Gemma 4, at the beginning of a text."""
_MESSAGE = re.compile(
    r"<\|channel\|>(?P<channel>\w{1,20})[^<]{0,99}(?:<\|constrain\|>[^<]{0,99})?<\|message\|>(?P<text>.*?)(?=<\|(?:channel|start|end|return|call)\|>|\Z)",
    re.DOTALL,
)
"""A message of gpt-oss, whose answer is in the channel `final`. Format: https://cookbook.openai.com, OpenAI Harmony."""

_HARMONY_MARKS = frozenset({"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|return|>", "<|call|>"})
_BLOCK_MARKS = frozenset({"[THINK]", "[/THINK]", "<|channel>", "<channel|>"})


def thought_marks(text: str) -> frozenset[str]:
    """Return the special tokens in a text that separate thoughts from the answer, which `split_thoughts` needs."""
    has_block = any(mark in text for mark in _BLOCK_MARKS)
    return _HARMONY_MARKS if "<|channel|>" in text else _BLOCK_MARKS if has_block else frozenset()


def split_thoughts(text: str) -> tuple[str, str]:
    """Return (thoughts, the rest), both stripped: the text between <think> and </think>, and the text after the last of
    them. At the beginning of that text, blocks such as <reasoning> are thoughts too. In a text with the channels of
    gpt-oss, all but `final` are thoughts.

    Either <think> or </think> may be missing: chat templates may write the first, and a text that is cut off may lack
    the second.
    """
    if messages := list(_MESSAGE.finditer(text)):
        answers = [message["text"] for message in messages if message["channel"] == "final"]
        return _join(message["text"] for message in messages if message["channel"] != "final"), _join(answers)
    before, _, after = text.rpartition(_CLOSED)
    rest, _, unfinished = after.partition(_OPENED)
    thoughts = [before.replace(_OPENED, "").replace(_CLOSED, ""), unfinished]
    start = 0
    while block := _BLOCK.match(rest, start):
        thoughts.append(block["tagged"] or block["mistral"] or block["gemma"] or "")
        start = block.end()
    return _join(thoughts), rest[start:].strip()


def _join(texts: Iterable[str]) -> str:
    return "\n".join(filter(None, map(str.strip, texts)))
