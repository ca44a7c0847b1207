"""Nesting depth of brackets. Recursive parsers fail on thousands of nested brackets."""

import re

_KINDS = (re.compile(r"[\[\]{}]"), re.compile(r"[()]"))
"""Kinds counted separately, because "]" does not close "("."""


def bracket_depth(text: str) -> int:
    """Return the largest number of brackets, or of parentheses, that are open at one place, whether closed later or
    not.

    Brackets in quotation marks count too.
    """
    deepest = 0
    for kind in _KINDS:
        depth = 0
        for sign in kind.findall(text):
            depth = depth + 1 if sign in "[({" else max(0, depth - 1)
            deepest = max(deepest, depth)
    return deepest
