"""Texts and tables in Markdown, with all data escaped."""

from collections.abc import Iterable, Iterator, Sequence

from analysis.formats.markdown_tables import escape
from runner.console.display import escape_control
from runner.console.styled_text import Prose


def plain(text: object) -> str:
    """Return the text on one line, with all markup of Markdown and HTML escaped."""
    return escape(escape_control(str(text)))


def prose_text(sentence: Prose) -> str:
    """Return the sentence with its strong pieces between stars, which touch no space."""
    return "".join(
        f"**{plain(piece)}**" if i % 2 and piece.strip() else _escape_piece(piece)
        for i, piece in enumerate(sentence.pieces)
    )


def _escape_piece(piece: str) -> str:
    before, after = (" " if piece[:1].isspace() else ""), (" " if piece[-1:].isspace() and piece.strip() else "")
    return f"{before}{plain(piece)}{after}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table with an empty line before and after it. The fields must be Markdown already."""
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
