"""Thoughts of reasoning models, which some servers leave in the text."""

import re

_OPENED, _CLOSED = "<think>", "</think>"
_BLOCK = re.compile(r"\s*<(reasoning|thinking|thought)>(.*?)(?:</\1>|\Z)", re.DOTALL)
"""Thoughts of Amazon Bedrock, of prompts for Claude, and of Gemini, which only the beginning of a text can hold."""


def split_thoughts(text: str) -> tuple[str, str]:
    """Return (thoughts, the rest), both stripped: the text between <think> and </think>, and the text after the last of
    them. At the beginning of that text, blocks of <reasoning>, <thinking> and <thought> are thoughts too.

    Either <think> or </think> may be missing: chat templates may write the first, and a text that is cut off may lack
    the second.
    """
    before, _, after = text.rpartition(_CLOSED)
    rest, _, unfinished = after.partition(_OPENED)
    thoughts = [before.replace(_OPENED, "").replace(_CLOSED, ""), unfinished]
    while block := _BLOCK.match(rest):
        thoughts.append(block[2])
        rest = rest[block.end() :]
    return "\n".join(filter(None, map(str.strip, thoughts))), rest.strip()
