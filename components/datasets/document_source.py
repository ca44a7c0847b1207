"""The documents of a user as a component that several data sets can share."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.datasets.data_files import sha256_of_files
from components.datasets.document_files import count_unread_files, document_files, format_kinds, read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.parsers.built_in import BuiltInReaders
from components.fields import added_later, runtime_only
from components.protocols.parsing import Parser
from components.records import Documents


@dataclass(frozen=True)
class DocumentSource:
    """A folder or a file of documents: see `read_documents`."""

    version: ClassVar[int] = 5

    path: str = runtime_only("", "the fingerprint covers the content of the files; their location does not matter")
    keep_structure: bool = added_later(False)
    one_per_line: bool = added_later(False)
    tables: tuple[str, ...] = added_later(())
    text_columns: tuple[str, ...] = added_later(())
    parser: Parser = added_later(BuiltInReaders())

    @property
    def options(self) -> ReadingOptions:
        """Return the options for reading the files."""
        return ReadingOptions(self.keep_structure, self.one_per_line, self.tables, self.text_columns, self.parser)

    def fingerprint(self) -> str:
        """Return the SHA-256 of all files that are read, and of the counts of other files, which the notes report."""
        place = Path(self.path)
        files = {f"documents/{name}": file for name, file in document_files(place, self.options).items()}
        content = sha256_of_files(files, "documents")
        return hashlib.sha256(f"{content} {format_kinds(count_unread_files(place, self.options))}".encode()).hexdigest()

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """Return the documents, and counts for the notes. Raises DataError for files that cannot be read."""
        return read_documents(Path(self.path), self.options)
