"""The documents of a user as a part of their own."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.datasets.document_files import document_files, other_files, read_documents, said
from components.datasets.reading import sha256_of_files
from components.fields import added_later, runtime_only
from components.records import Documents


@dataclass(frozen=True)
class DocumentSource:
    """A folder or a file of documents: see `read_documents`."""

    version: ClassVar[int] = 2

    path: str = runtime_only("", "the content of the files counts, through the fingerprint, not their place")
    keep_structure: bool = added_later(False)

    def fingerprint(self) -> str:
        """SHA-256 over all files that are read and the numbers of those that are not, which the counts report."""
        place = Path(self.path)
        files = {f"documents/{name}": file for name, file in document_files(place).items()}
        content = sha256_of_files(files, "documents")
        return hashlib.sha256(f"{content} {said(other_files(place))}".encode()).hexdigest()

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """The documents, and counts for the notes. Raises DataError."""
        return read_documents(Path(self.path), keep_structure=self.keep_structure)
