"""Blocks of a Markdown text (headings, tables and others), with their spans."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LINE_END = re.compile(r"\r\n|\r|\n")
_HEADING = re.compile(r"(?:^|[\r\n]) {0,3}(?:#{1,6}(?:[ \t\r\n]|$)|(?:=+|-+)[ \t]*(?:[\r\n]|$))")
"""The beginning of a heading, or of the line under one."""


class Block(NamedTuple):
    """An outermost block at the characters [start, end).

    A heading has a `level` of 1 to 6, and `title` is its text in Markdown. Other blocks have 0 and "".
    """

    start: int
    end: int
    level: int = 0
    title: str = ""


def may_have_headings(text: str) -> bool:
    """Return False if the text certainly has no heading, without parsing it. This covers most plain texts."""
    return _HEADING.search(text) is not None


def blocks(text: str) -> list[Block]:
    """Return the outermost blocks in order. Whitespace between them belongs to none."""
    starts = _line_starts(text)
    tokens = _parser().parse(text)
    outermost = []
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0 and token.map:
            span = (starts[token.map[0]], starts[token.map[1]])
            is_heading = token.type == "heading_open"
            if is_heading:
                outermost.append(Block(*span, int(token.tag[1]), tokens[index + 1].content))
            elif text[slice(*span)].strip():  # the parser treats the end of a page as a paragraph
                outermost.append(Block(*span))
    return outermost


def tables(text: str) -> Iterator[tuple[int, int]]:
    """Yield the characters [start, end) of every table, including tables in lists and quotations."""
    if "|" in text:
        starts = _line_starts(text)
        yield from (
            (starts[token.map[0]], starts[token.map[1]])
            for token in _parser().parse(text)
            if token.type == "table_open" and token.map
        )


def _line_starts(text: str) -> list[int]:
    """Return the starts of lines, and the end of the text twice, for the line after the last one."""
    return [0, *(match.end() for match in _LINE_END.finditer(text)), len(text), len(text)]


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")
