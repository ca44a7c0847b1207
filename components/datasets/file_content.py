"""What is read of a file of documents, and how a user wants it read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from components.records import LazySequence


@dataclass(frozen=True)
class ReadingOptions:
    """How files become documents.

    With `keep_structure` headings and tables of HTML are written as those of Markdown, and a form feed ends each page
    of PDF. With `one_per_line` every line of a text file is a document, and files with an unknown extension, or none,
    are such text files. `tables` are the tables and views of databases that are read, () for all tables. Of rows (of
    databases and of CSV) `text_columns` become the text, and the others metadata; () for all columns in the text.
    """

    keep_structure: bool = False
    one_per_line: bool = False
    tables: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()


class FileEntry(NamedTuple):
    """One document of a file. `part` says which, behind the file's name in its id: "" for the whole file."""

    part: str
    title: str
    text: str
    metadata: Mapping[str, str] = {}


@dataclass(frozen=True)
class EntryColumns(LazySequence[FileEntry]):
    """Many documents of a file as columns of equal length, whose texts may lie on the disk."""

    parts: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[Mapping[str, str]]

    def __len__(self) -> int:
        return len(self.parts)

    def _item(self, index: int) -> FileEntry:
        return FileEntry(self.parts[index], self.titles[index], self.texts[index], self.metadata[index])


@dataclass(frozen=True)
class FileContent:
    """The documents of a file, and what there was to count meanwhile, for the notes. `text_columns` are those of
    `ReadingOptions` that its tables have.
    """

    entries: Sequence[FileEntry]
    counts: Mapping[str, int] = field(default_factory=dict)
    text_columns: frozenset[str] = frozenset()
