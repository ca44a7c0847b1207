"""What a text in Markdown consists of: headings, tables and other blocks, with their places."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LINE_END = re.compile(r"\r\n|\r|\n")
_HEADING = re.compile(r"(?:^|[\r\n]) {0,3}(?:#{1,6}(?:[ \t\r\n]|$)|(?:=+|-+)[ \t]*(?:[\r\n]|$))")
"""What begins like a heading, or like the line under one."""


class Block(NamedTuple):
    """The characters [start, end) of a block that is in no other one. Of a heading, `level` is 1 to 6 and `title` what
    it says, in Markdown; of others 0 and "".
    """

    start: int
    end: int
    level: int = 0
    title: str = ""


def may_have_headings(text: str) -> bool:
    """False for a text without a heading, told without parsing it; most plain texts are such."""
    return _HEADING.search(text) is not None


def blocks(text: str) -> list[Block]:
    """The outermost blocks in order. White space between them is in none."""
    starts = _line_starts(text)
    tokens = _parser().parse(text)
    found = []
    for place, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0 and token.map:
            own = (starts[token.map[0]], starts[token.map[1]])
            is_heading = token.type == "heading_open"
            if is_heading:
                found.append(Block(*own, int(token.tag[1]), tokens[place + 1].content))
            elif text[slice(*own)].strip():  # the end of a page is a paragraph to the parser
                found.append(Block(*own))
    return found


def tables(text: str) -> Iterator[tuple[int, int]]:
    """The characters [start, end) of every table, those in lists and quotations too."""
    if "|" in text:
        starts = _line_starts(text)
        yield from (
            (starts[token.map[0]], starts[token.map[1]])
            for token in _parser().parse(text)
            if token.type == "table_open" and token.map
        )


def _line_starts(text: str) -> list[int]:
    """Where lines begin, and where the text ends, twice: for the line behind the last one."""
    return [0, *(match.end() for match in _LINE_END.finditer(text)), len(text), len(text)]


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")
