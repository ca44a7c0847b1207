"""The documents of a user as a part of their own."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.datasets.document_files import document_files, other_files, read_documents, said
from components.datasets.file_content import ReadingOptions
from components.datasets.reading import sha256_of_files
from components.fields import added_later, runtime_only
from components.records import Documents


@dataclass(frozen=True)
class DocumentSource:
    """A folder or a file of documents: see `read_documents`."""

    version: ClassVar[int] = 3

    path: str = runtime_only("", "the content of the files counts, through the fingerprint, not their place")
    keep_structure: bool = added_later(False)
    one_per_line: bool = added_later(False)
    tables: tuple[str, ...] = added_later(())
    text_columns: tuple[str, ...] = added_later(())

    @property
    def options(self) -> ReadingOptions:
        """How the files are read."""
        return ReadingOptions(self.keep_structure, self.one_per_line, self.tables, self.text_columns)

    def fingerprint(self) -> str:
        """SHA-256 over all files that are read and the numbers of those that are not, which the counts report."""
        place = Path(self.path)
        files = {f"documents/{name}": file for name, file in document_files(place, self.options).items()}
        content = sha256_of_files(files, "documents")
        return hashlib.sha256(f"{content} {said(other_files(place, self.options))}".encode()).hexdigest()

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """The documents, and counts for the notes. Raises DataError."""
        return read_documents(Path(self.path), self.options)
