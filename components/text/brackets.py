"""How deeply brackets are nested: parsers that call themselves for each bracket fail on thousands."""

import re

_KINDS = (re.compile(r"[\[\]{}]"), re.compile(r"[()]"))
"""Counted apart: a "]" closes no "("."""


def depth_of_brackets(text: str) -> int:
    """Return the most brackets, or the most parentheses, that are open at one place, closed or not. Those in quotes
    count too.
    """
    deepest = 0
    for kind in _KINDS:
        depth = 0
        for sign in kind.findall(text):
            depth = depth + 1 if sign in "[({" else max(0, depth - 1)
            deepest = max(deepest, depth)
    return deepest
