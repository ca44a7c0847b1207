"""How deeply brackets are nested: parsers that call themselves for each bracket fail on thousands."""

import re

_BRACKET = re.compile(r"[\[\](){}]")


def depth_of_brackets(text: str) -> int:
    """Return the most brackets of any kind that are open at one place, closed or not. Those in quotes count too."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "[({" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
