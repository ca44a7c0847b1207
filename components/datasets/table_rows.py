"""Rows of tables, from databases and CSV files, as documents."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from components.datasets.file_content import FileEntry, ReadingOptions
from components.errors import DataError

_TITLE = "title"
_MAX_CHARACTERS = 500_000_000


def row_document(part: str, values: Mapping[str, str], options: ReadingOptions) -> FileEntry:
    """Return a row as a document. `values` are its values that are not empty, by column.

    The text is the value of the only text column or, for several text columns (or all), one line "column: value" for
    each. A column `title` also becomes the title.
    """
    title = next((value for column, value in values.items() if column.lower() == _TITLE), "")
    chosen = options.text_columns or tuple(values)
    text_columns = frozenset(chosen)
    if len(options.text_columns) == 1:
        text = values.get(chosen[0], "")
    else:
        text = "\n".join(f"{column}: {values[column]}" for column in chosen if column in values)
    metadata = {
        column: value for column, value in values.items() if column not in text_columns and column.lower() != _TITLE
    }
    return FileEntry(part, title, text, metadata)


def find_text_columns(columns: Iterable[str], options: ReadingOptions) -> frozenset[str]:
    """Return the columns of `options.text_columns` that a table has."""
    return frozenset(options.text_columns).intersection(columns)


def limit_text(entries: Iterable[FileEntry], file: Path) -> Iterator[FileEntry]:
    """Yield the entries unchanged. Raises DataError once they contain more text than fits into memory."""
    n_characters = 0
    for entry in entries:
        n_characters += len(entry.text)
        if n_characters > _MAX_CHARACTERS:
            raise DataError(
                f"{file}: its rows hold more than {_MAX_CHARACTERS:,} characters, too many to hold in memory. Choose "
                "the `tables` and `text_columns` that you need, or use a part of the file."
            )
        yield entry
