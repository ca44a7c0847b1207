"""Rows of tables, from databases and CSV files, as documents."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from components.datasets.file_content import FileEntry, ReadingOptions
from components.errors import DataError

_TITLE = "title"
_MOST_CHARACTERS = 500_000_000


def row_document(part: str, values: Mapping[str, str], options: ReadingOptions) -> FileEntry:
    """A row as a document. `values` are those that are there, by column. Without chosen columns, and of several, the
    text is a line "column: value" for each; of a single one it is the value. A column `title` is the title besides.
    """
    title = next((value for column, value in values.items() if column.lower() == _TITLE), "")
    chosen = options.text_columns or tuple(values)
    of_text = frozenset(chosen)
    if len(options.text_columns) == 1:
        text = values.get(chosen[0], "")
    else:
        text = "\n".join(f"{column}: {values[column]}" for column in chosen if column in values)
    others = {column: value for column, value in values.items() if column not in of_text and column.lower() != _TITLE}
    return FileEntry(part, title, text, others)


def text_columns_in(columns: Iterable[str], options: ReadingOptions) -> frozenset[str]:
    """The columns of a table that are to become the text, of those that the options name."""
    return frozenset(options.text_columns).intersection(columns)


def bounded(entries: Iterable[FileEntry], file: Path) -> Iterator[FileEntry]:
    """The entries as they come. Raises DataError once they hold more text than a corpus should."""
    n_characters = 0
    for entry in entries:
        n_characters += len(entry.text)
        if n_characters > _MOST_CHARACTERS:
            raise DataError(
                f"{file}: its rows hold more than {_MOST_CHARACTERS:,} characters, too many to be kept in memory. "
                "Name the `tables` and `text_columns` that are wanted, or take a part of the file."
            )
        yield entry
