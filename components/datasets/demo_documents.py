"""The bundled documents without their questions."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

from components.datasets.data_files import sha256_of_files
from components.datasets.demo import EXPECTED, bundled_file, read_demo_documents
from components.records import Documents


@dataclass(frozen=True)
class DemoDocuments:
    """The documents of the bundled benchmark, from which new questions can be made."""

    version: ClassVar[int] = 1

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file of documents."""
        with ExitStack() as stack:
            return sha256_of_files({"documents.jsonl": bundled_file("documents.jsonl", stack)}, EXPECTED)

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """Return all documents, and no counts."""
        with ExitStack() as stack:
            return read_demo_documents(bundled_file("documents.jsonl", stack)), {}
