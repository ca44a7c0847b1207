"""The content of a file of documents, and the options for reading it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from components.datasets.parsers.built_in import BuiltInReaders
from components.protocols.parsing import Parser
from components.records import LazySequence

PAGE_END = "\n\f\n"
"""Ends each page but the last, with `keep_structure`."""

OFFICE_SUFFIXES = (".docx", ".pptx", ".xlsx")
"""Extensions that `parser=office` reads and the default parser does not."""


@dataclass(frozen=True)
class ReadingOptions:
    """Options for turning files into documents.

    - `keep_structure`: headings and tables of HTML are written as in Markdown, and a form feed ends each page of PDF;
    - `one_per_line`: every line of a text file is a document, and files with an unknown or no extension are text files;
    - `tables`: the tables and views of databases to read, () for all tables without views;
    - `text_columns`: the columns of databases and CSV files that become the text, while the others become metadata; ()
      puts all columns into the text;
    - `parser`: reads files of the kinds that it names in place of the built-in readers.
    """

    keep_structure: bool = False
    one_per_line: bool = False
    tables: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()
    parser: Parser = BuiltInReaders()


class FileEntry(NamedTuple):
    """One document of a file. Its id is the file's name followed by `part`, which is "" for the whole file."""

    part: str
    title: str
    text: str
    metadata: Mapping[str, str] = {}


@dataclass(frozen=True)
class EntryColumns(LazySequence[FileEntry]):
    """Many documents of a file as columns of equal length. Texts may be on disk."""

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
    """The documents of a file, and counts for the notes.

    `text_columns` are the columns of `ReadingOptions.text_columns` that its tables have.
    """

    entries: Sequence[FileEntry]
    counts: Mapping[str, int] = field(default_factory=dict)
    text_columns: frozenset[str] = frozenset()
