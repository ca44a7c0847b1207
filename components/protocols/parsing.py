"""Parsers of documents: from a file to its text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from components.protocols.component import Component


@dataclass(frozen=True)
class ParsedFile:
    """The title of a file, "" if it has none, and the texts of its pages, slides or sheets, in order.

    Pages are parsed as they are read, so that the time of each is limited. Tables are written in Markdown if the parser
    finds them.
    """

    title: str
    pages: Iterator[str]


@runtime_checkable
class FileParser(Component, Protocol):
    """A component that reads files of some kinds."""

    @property
    def suffixes(self) -> Sequence[str]:
        """The extensions of its files, in lower case, with their dot."""

    @property
    def packages(self) -> Sequence[str]:
        """The packages that it needs, by the names under which they are imported."""

    @property
    def extra(self) -> str:
        """The extra that installs them."""

    def parse(self, file: Path) -> ParsedFile:
        """Return the text of a file. It may raise anything for a damaged file."""


@runtime_checkable
class Parser(Component, Protocol):
    """A component that lists parsers of files. The first one that reads an extension reads its files."""

    @property
    def parts(self) -> Sequence[FileParser]:
        """The parsers; empty for the built-in readers of all files. A parser of files returns itself."""
