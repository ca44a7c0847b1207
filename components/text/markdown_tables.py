"""Tables written in Markdown."""

from collections.abc import Iterable, Sequence


def markdown_row(cells: Iterable[str]) -> str:
    """Return one line of a table. Whitespace in cells becomes single spaces, and "|" is escaped."""
    written = [" ".join(cell.split()).replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(written)} |"


def markdown_table(rows: Iterable[Sequence[str | None]]) -> str:
    """Return a table whose first row with text is the head, because Markdown requires one.

    Rows without text are left out. Return "" if there are no rows.
    """
    written = [[cell or "" for cell in row] for row in rows if any(cell and cell.strip() for cell in row)]
    if not written:
        return ""
    head, *body = map(markdown_row, written)
    return "\n".join([head, markdown_row(["---"] * len(written[0])), *body])
